import swagger from '@fastify/swagger';
import swaggerUi from '@fastify/swagger-ui';
import * as contract from '@millrace/contract';
import fastify, { type FastifyInstance, type FastifySchema } from 'fastify';
import type { HttpContext } from './context.js';
import { sendJson } from './answers/reply.js';
import { finishDocument } from './openapi-document.js';
import { registerRoutes } from './routes/index.js';
import { errors } from './routes/route-docs.js';
import { validatorOptions } from './requests/validation.js';

/** The version of the API, not of the server: it changes when the shapes do. */
const API_VERSION = '1.0.0';

/** Every asset comes from this server. Swagger UI uses inline styles and data URLs, but no inline scripts. */
const DOCS_CSP =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self' data:; " +
  "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** Schemas that have a name. The document contains those that routes refer to. */
const NAMED = Object.values<unknown>(contract).filter(
  (exported): exported is { $id: string } => typeof exported === 'object' && exported !== null && '$id' in exported,
);

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
      servers: [{ url: '/', description: 'The server that this document comes from.' }],
      tags: [
        { name: 'jobs', description: 'Create, find, follow and cancel jobs.' },
        { name: 'worker', description: 'Lease jobs, keep them alive, report how they ended.' },
        { name: 'workflows', description: 'Graphs of steps that run in order and share a context.' },
        { name: 'cron', description: 'Recurring timetables that enqueue jobs.' },
        { name: 'dead letters', description: 'Jobs that failed for good, and how to run them again.' },
        { name: 'operations', description: 'Changes to everything that matches a filter.' },
        { name: 'admin', description: 'What operators see and do. Only where the server has an admin token.' },
        { name: 'system', description: 'Probes, counters and depths.' },
      ],
      components: {
        securitySchemes: {
          tenantToken: {
            type: 'http',
            scheme: 'bearer',
            description:
              'A static API key of a tenant, or an HS256 JWT whose `sub` is the tenant. Those that may only read are ' +
              'refused (403) by every operation that writes.',
          },
          workerToken: { type: 'http', scheme: 'bearer', description: 'The worker token of the deployment.' },
          adminToken: {
            type: 'http',
            scheme: 'bearer',
            description:
              'The admin token of the deployment, if it has one. With the header `Millrace-Tenant: acme` it may call ' +
              'every operation of the tenant acme that only reads (403 for the others).',
          },
        },
      },
    },
    refResolver: {
      buildLocalReference: ({ $id }, _base, _fragment, i) => (typeof $id === 'string' ? $id : `def-${i}`),
    },
    transform: ({ schema, url }) => ({ schema: withDocs(schema), url }),
    transformObject: (document) => ('openapiObject' in document ? finishDocument(document.openapiObject) : {}),
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
  const hooks = { tenant: refuse, worker: refuse, admin: refuse, anybody: refuse };
  registerRoutes(app, { engine: {}, hasAdmin: true } as HttpContext, hooks);
  await app.ready();
  return app.swagger();
}

/** Moves what a route says under `docs` to where the framework would have acted on it. Any route may have a bug. */
function withDocs(schema: FastifySchema): FastifySchema {
  if (schema?.docs === undefined) return schema;
  const { docs, ...rest } = schema;
  return { ...rest, ...docs, response: { ...docs.response, ...errors(500) } };
}

const DESCRIPTION = `A durable job queue on PostgreSQL, with a JSON-over-HTTP interface.

Tenants create jobs; workers lease them, send heartbeats while they work, and report how they ended. Delivery is
at-least-once, so handlers must be idempotent.

- Every request under \`/api/v1\` carries \`Authorization: Bearer <token>\`.
- Instants are RFC 3339 in UTC, with microseconds.
- Payloads, results and metadata are stored and returned exactly as they were sent.
- Types are never coerced, and null for an optional field means that it is absent.
- Unknown fields and parameters are ignored, and named in \`warnings\`; with \`Prefer: handling=strict\` they are refused.
- Every answer that is not a success has the same body: a sentence, a stable code and a timestamp.
- A path that exists, with a method that it does not have, is answered 405; \`Allow\` lists those it has.`;
