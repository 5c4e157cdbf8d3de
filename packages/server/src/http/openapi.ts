import swagger from '@fastify/swagger';
import swaggerUi from '@fastify/swagger-ui';
import * as contract from '@millrace/contract';
import fastify, { type FastifyInstance, type FastifySchema } from 'fastify';
import type { HttpContext } from './context.js';
import { sendJson } from './answers/reply.js';
import { registerRoutes } from './routes/index.js';
import { validatorOptions } from './requests/validation.js';

/** The version of the API, not of the server: it changes when the shapes do. */
const API_VERSION = '1.0.0';

/** Every asset comes from this server. Swagger UI uses inline styles and data URLs, but no inline scripts. */
const DOCS_CSP =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self' data:; " +
  "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** Schemas that have a name; routes refer to them. */
const NAMED = [
  contract.ErrorBody,
  contract.JobConfig,
  contract.Job,
  contract.CreateJob,
  contract.CreateJobBatch,
  contract.JobCreated,
  contract.JobBatchCreated,
  contract.JobPage,
  contract.JobSummary,
  contract.JobSummaryPage,
  contract.WaitRequest,
  contract.WaitResponse,
  contract.ErrorDetails,
  contract.Attempt,
  contract.Attempts,
  contract.Why,
  contract.LeaseRequest,
  contract.LeasedJob,
  contract.LeaseResponse,
  contract.HeartbeatRequest,
  contract.HeartbeatResponse,
  contract.CompleteRequest,
  contract.FailRequest,
  contract.ReleaseRequest,
  contract.HeartbeatsRequest,
  contract.HeartbeatsResponse,
  contract.Report,
  contract.ReportsRequest,
  contract.ReportsResponse,
  contract.WorkflowStepInput,
  contract.CreateWorkflow,
  contract.WorkflowCreated,
  contract.WorkflowStepDefinition,
  contract.Workflow,
  contract.WorkflowPage,
  contract.WorkflowSummary,
  contract.WorkflowSummaryPage,
  contract.WorkflowStep,
  contract.WorkflowSteps,
  contract.WorkflowEvent,
  contract.WorkflowDiagram,
  contract.CreateCron,
  contract.PutCron,
  contract.CronCreated,
  contract.CronTriggered,
  contract.Cron,
  contract.CronPage,
  contract.CronFiring,
  contract.CronFiringPage,
  contract.NextRuns,
  contract.CronPreview,
  contract.DeadLetter,
  contract.DeadLetterPage,
  contract.DeadLetterGroup,
  contract.DeadLetterGroups,
  contract.Health,
  contract.Ready,
  contract.Stats,
  contract.Tasks,
  contract.QueueDepth,
  contract.Queues,
  contract.WhoAmI,
];

/** Must be called before the routes are registered, because it collects them as they are added. */
export function registerOpenApi(app: FastifyInstance): void {
  for (const schema of NAMED) app.addSchema(schema);
  void app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Millrace',
        version: API_VERSION,
        description: DESCRIPTION,
        license: { name: 'MIT', identifier: 'MIT' },
      },
      tags: [
        { name: 'jobs', description: 'Create, find, follow and cancel jobs.' },
        { name: 'worker', description: 'Lease jobs, keep them alive, report how they ended.' },
        { name: 'workflows', description: 'Graphs of steps that run in order and share a context.' },
        { name: 'cron', description: 'Recurring timetables that enqueue jobs.' },
        { name: 'dead letters', description: 'Jobs that failed for good, and how to run them again.' },
        { name: 'system', description: 'Probes, counters and depths.' },
      ],
      components: {
        securitySchemes: {
          tenantToken: {
            type: 'http',
            scheme: 'bearer',
            description: 'A static API key of a tenant, or an HS256 JWT whose `sub` is the tenant.',
          },
          workerToken: { type: 'http', scheme: 'bearer', description: 'The worker token of the deployment.' },
        },
      },
    },
    refResolver: {
      buildLocalReference: ({ $id }, _base, _fragment, i) => (typeof $id === 'string' ? $id : `def-${i}`),
    },
    transform: ({ schema, url }) => ({ schema: withDocs(schema), url }),
    transformObject: (document) => optionalLeaseBody('openapiObject' in document ? document.openapiObject : {}),
  });
}

/** The page under /docs and the document it shows. */
export function registerDocs(app: FastifyInstance): void {
  void app.register(swaggerUi, {
    routePrefix: '/docs',
    staticCSP: DOCS_CSP,
    uiConfig: {
      // Without the plugin's own top bar and logo.
      layout: 'BaseLayout',
      deepLinking: true,
      docExpansion: 'list',
      displayRequestDuration: true,
      // Otherwise the page would ask a service on the internet to validate the document.
      validatorUrl: null,
    },
    theme: { title: 'Millrace API' },
  });
  let document: string | undefined;
  app.get('/openapi.json', { schema: { hide: true } }, (_request, reply) =>
    sendJson(reply, 200, (document ??= JSON.stringify(app.swagger()))),
  );
}

/** The API description without a server: the routes are registered but never called. */
export async function openApiDocument(): Promise<object> {
  const app = fastify({ ajv: validatorOptions });
  const refuse = (): never => {
    throw new Error('this application only describes itself');
  };
  registerOpenApi(app);
  registerRoutes(app, { engine: {} } as HttpContext, { tenant: refuse, worker: refuse, anybody: refuse });
  await app.ready();
  return app.swagger();
}

/** Moves what a route says under `docs` to where the framework would have acted on it. */
function withDocs(schema: FastifySchema): FastifySchema {
  if (schema?.docs === undefined) return schema;
  const { docs, ...rest } = schema;
  return { ...rest, ...docs };
}

/** The plugin marks every body as required, but a lease needs none. */
function optionalLeaseBody(document: object): object {
  const { paths } = document as { paths?: Record<string, { post?: { requestBody?: { required: boolean } } }> };
  const body = paths?.['/api/v1/queues/{queue}/lease']?.post?.requestBody;
  if (body !== undefined) body.required = false;
  return document;
}

const DESCRIPTION = `A durable job queue on PostgreSQL, with a JSON-over-HTTP interface.

Tenants create jobs; workers lease them, send heartbeats while they work, and report how they ended. Delivery is
at-least-once, so handlers must be idempotent.

- Every request under \`/api/v1\` carries \`Authorization: Bearer <token>\`.
- Instants are RFC 3339 in UTC, with microseconds.
- Payloads, results and metadata are stored and returned exactly as they were sent.
- Types are never coerced, unknown fields are ignored, and null for an optional field means that it is absent.
- Every answer that is not a success has the same body: a sentence, a stable code and a timestamp.`;
