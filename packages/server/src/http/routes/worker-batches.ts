import {
  HeartbeatsRequest,
  HeartbeatsResponse,
  LEASE_BATCH_LIMITS,
  LEASE_LIMITS,
  ref,
  Report,
  ReportsRequest,
  ReportsResponse,
} from '@millrace/contract';
import type { FastifyInstance, FastifyRequest, preValidationHookHandler } from 'fastify';
import { invalidField, invalidRequest, MillraceError } from '../../domain/errors.js';
import { fieldsOfItems } from '../../domain/raw-json.js';
import { refuseOthers } from '../access/queue-scope.js';
import type { HttpContext } from '../context.js';
import { sendJson } from '../answers/reply.js';
import { cutLogs, newLogs } from '../requests/log-input.js';
import { jobReport, progressText, REPORT_TEXTS } from '../requests/report-input.js';
import { traceReports } from '../requests/trace.js';
import { validationDetails } from '../requests/validation.js';
import { bodyErrors, described, vital, WORKER } from './route-docs.js';
import { clamp } from './worker.js';

/**
 * Heartbeats and reports for many leases in one call. The body as a whole is validated before; each item is judged by
 * itself, so that one that is wrong gets its code and the others go ahead.
 */
export function workerBatchRoutes(app: FastifyInstance, context: HttpContext): void {
  const { worker } = context.engine;

  app.post<{ Body: HeartbeatsRequest }>(
    '/heartbeats',
    { ...vital(heartbeatsSchema), preValidation: boundItems('leases') },
    async (request, reply) => {
      const { extend_secs: extend, leases } = request.body;
      const extendSecs = clamp(extend, LEASE_LIMITS.extend_secs);
      const texts = await rawItems(request, context, 'leases', ['progress', 'logs'], leases);
      const read = judgeEach(request, leases, LEASE, (lease, i) => ({
        id: lease.job_id,
        token: lease.lease_token,
        extendSecs,
        progress: progressText(lease.progress, texts[i]?.[0]),
        logs: newLogs(lease.logs, texts[i]?.[1]),
      }));
      const answers = await throughEngine(await refuseOthers(request, worker, read), (beats) =>
        worker.heartbeats(beats),
      );
      return sendJson(
        reply,
        200,
        batchJson('leases', leases, answers, (status) => `"status":"${status}"`),
      );
    },
  );

  app.post<{ Body: ReportsRequest }>(
    '/reports',
    { ...vital(reportsSchema), preValidation: boundItems('reports') },
    async (request, reply) => {
      const { reports } = request.body;
      const startedAt = Date.now();
      const texts = await rawItems(request, context, 'reports', REPORT_TEXTS, reports);
      const read = judgeEach(request, reports, REPORT, (report, i) => jobReport(report, texts[i] ?? [], context));
      const answers = await throughEngine(await refuseOthers(request, worker, read), (items) => worker.report(items));
      if (context.tracer !== null) traceReports(context.tracer, startedAt, reports, answers);
      return sendJson(
        reply,
        200,
        batchJson('reports', reports, answers, () => '"ok":true'),
      );
    },
  );
}

const LEASE = HeartbeatsRequest.properties.leases.items;
const REPORT = ref(Report);

/** Before the validator looks at the items, as for a batch of jobs. */
const boundItems =
  (field: 'leases' | 'reports'): preValidationHookHandler =>
  (request, _reply, done) => {
    const items = ((request.body ?? {}) as Record<string, unknown>)[field];
    if (!Array.isArray(items)) return done();
    if (items.length <= LEASE_BATCH_LIMITS.maximum) {
      items.forEach(cutLogs);
      return done();
    }
    done(invalidField(field, `must have at most ${LEASE_BATCH_LIMITS.maximum} items`));
  };

/** The texts of these fields of every item, as they were sent. */
async function rawItems(
  { rawBody }: FastifyRequest,
  { turns }: HttpContext,
  items: string,
  fields: readonly string[],
  parsed: readonly unknown[],
): Promise<(string | undefined)[][]> {
  const areThere = (item: unknown): boolean =>
    typeof item === 'object' && item !== null && fields.some((field) => Object.hasOwn(item, field));
  return parsed.some(areThere) ? turns.over(rawBody, fieldsOfItems(rawBody, items, fields)) : [];
}

/** Each item as the engine takes it, or what is wrong with it. */
function judgeEach<Item, Read>(
  request: FastifyRequest,
  items: readonly Item[],
  schema: object,
  read: (item: Item, index: number) => Read,
): (Read | MillraceError)[] {
  const isValid = request.compileValidationSchema(schema);
  return items.map((item, index) => {
    if (!isValid(item)) {
      const [first] = validationDetails(isValid.errors ?? []);
      return first ? invalidField(first.path, first.message) : invalidRequest('the item is not valid');
    }
    try {
      return read(item, index);
    } catch (error) {
      if (error instanceof MillraceError) return error;
      throw error;
    }
  });
}

/** Passes on the items that are sound, and puts the answers in their places among the refusals. */
async function throughEngine<Read extends object, Answer>(
  read: readonly (Read | MillraceError)[],
  act: (items: readonly Read[]) => Promise<readonly Answer[]>,
): Promise<(Answer | MillraceError)[]> {
  const sound = read.filter((item): item is Read => !(item instanceof MillraceError));
  const answers = await act(sound);
  let next = 0;
  return read.map((item) => (item instanceof MillraceError ? item : answers[next++]!));
}

function batchJson<Answer>(
  key: string,
  items: readonly unknown[],
  answers: readonly (Answer | MillraceError)[],
  accepted: (answer: Answer) => string,
): string {
  const members = answers.map((answer, i) => {
    const said =
      answer instanceof MillraceError
        ? `"code":"${answer.code}","error":${JSON.stringify(answer.message)}`
        : accepted(answer);
    return `{"job_id":${JSON.stringify(jobIdOf(items[i]))},${said}}`;
  });
  return `{"${key}":[${members.join(',')}]}`;
}

/** As it was sent, if it is an id at all. */
function jobIdOf(item: unknown): string {
  const id = (item as { job_id?: unknown } | null)?.job_id;
  return typeof id === 'string' ? id.slice(0, MAX_ID_LENGTH) : '';
}

const MAX_ID_LENGTH = 255;

/** Of the body only what is outside the items: those are judged one by one. The description tells the whole. */
const bodyOf = (field: 'leases' | 'reports', more: object = {}): object => ({
  type: 'object',
  required: [field],
  properties: { [field]: { type: 'array', minItems: LEASE_BATCH_LIMITS.minimum }, ...more },
});

const heartbeatsSchema = {
  operationId: 'heartbeatJobs',
  summary: 'Extend many leases',
  description:
    'A heartbeat for up to 1000 leases in one call. The answer has one entry per lease, in the same order: the ' +
    '`status` that a separate heartbeat would have got, or the `code` of its error.',
  tags: ['worker'],
  security: WORKER,
  body: bodyOf('leases', { extend_secs: HeartbeatsRequest.properties.extend_secs }),
  docs: {
    body: ref(HeartbeatsRequest),
    response: { 200: described(ref(HeartbeatsResponse), 'One answer per lease.'), ...bodyErrors(403) },
  },
};

const reportsSchema = {
  operationId: 'reportJobs',
  summary: 'Report the outcome of many attempts',
  description:
    'Up to 1000 reports in one call, each with what `complete`, `fail`, `release` or `suspend` would take. The ' +
    'answer has one entry per report, in the same order: `ok`, or the `code` of the error that a separate call would ' +
    'have got. A bad report does not affect the others. If two reports are about one job, the first one goes first.',
  tags: ['worker'],
  security: WORKER,
  body: bodyOf('reports'),
  docs: {
    body: ref(ReportsRequest),
    response: { 200: described(ref(ReportsResponse), 'One answer per report.'), ...bodyErrors(403) },
  },
};
