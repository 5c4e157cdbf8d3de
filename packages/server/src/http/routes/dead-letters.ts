import {
  DeadLetter,
  DeadLetterGroups,
  DeadLetterGroupsQuery,
  DeadLetterListQuery,
  DeadLetterPage,
  DeadLetterParams,
  IdempotentHeaders,
  JobCreated,
  ref,
  ReplayRequest,
} from '@millrace/contract';
import type { FastifyInstance } from 'fastify';
import { notFound } from '../../domain/errors.js';
import { keptCheckpoints } from '../../domain/kept-checkpoints.js';
import type { HttpContext } from '../context.js';
import { idempotencyKey } from '../requests/idempotency-key.js';
import { deadLetterGroupsQuery, deadLetterListQuery, type QueryParameters } from '../requests/list-parameters.js';
import { replayBody } from '../requests/replay-input.js';
import { sendTagged } from '../answers/etag.js';
import { sendPage } from '../answers/page.js';
import { sendCreated, sendJson } from '../answers/reply.js';
import { bodyErrors, described, errors, JOB_LOCATION, REPLAYED, tagged, TENANT } from './route-docs.js';
import { deadLetterGroupsJson, deadLetterJson } from '../answers/serialize.js';

interface ById {
  Params: { id: string };
}

const CANONICAL_INTEGER = /^(?:0|[1-9]\d{0,18})$/;
const MAX_INT64 = 2n ** 63n - 1n;

export function deadLetterRoutes(app: FastifyInstance, context: HttpContext): void {
  const { engine } = context;

  app.get<{ Querystring: QueryParameters }>('/dlq', { schema: listSchema }, async (request, reply) => {
    const query = deadLetterListQuery(request.query);
    const page = await engine.deadLetters.list(request.tenant, query);
    return sendPage(request, reply, context, page, query, { key: 'dead_letters', itemJson: deadLetterJson });
  });

  app.get<{ Querystring: QueryParameters }>('/dlq/groups', { schema: groupsSchema }, async (request, reply) => {
    const page = await engine.deadLetters.groups(request.tenant, deadLetterGroupsQuery(request.query));
    return sendTagged(request, reply, deadLetterGroupsJson(page));
  });

  app.get<ById>('/dlq/:id', { schema: getSchema }, async (request, reply) =>
    sendJson(reply, 200, deadLetterJson(await engine.deadLetters.get(request.tenant, deadLetterId(request.params.id)))),
  );

  app.post<ById & { Body: ReplayRequest }>(
    '/dlq/:id/replay',
    { schema: replaySchema, preValidation: replayBody },
    async (request, reply) => {
      const id = deadLetterId(request.params.id);
      const kept = keptCheckpoints(request.body.keep_checkpoints);
      const created = await engine.deadLetters.replay(request.tenant, id, idempotencyKey(request), kept);
      return sendCreated(reply, created, 'job_id', 'jobs');
    },
  );
}

/** Text that cannot be an id is simply not found. */
function deadLetterId(text: string): string {
  if (!CANONICAL_INTEGER.test(text) || BigInt(text) > MAX_INT64) throw notFound('dead letter');
  return text;
}

const listSchema = {
  operationId: 'listDeadLetters',
  summary: 'List dead letters',
  description:
    'Newest first unless asked otherwise. `status` and `queue` do not apply. With `queue_name`, `task_name`, ' +
    '`reason` or `replayed`, a page may come back short: see `searched_to`.',
  tags: ['dead letters'],
  security: TENANT,
  docs: {
    querystring: DeadLetterListQuery,
    ...tagged(ref(DeadLetterPage), 'A page.'),
  },
};

const groupsSchema = {
  operationId: 'listDeadLetterGroups',
  summary: 'Dead letters grouped by what they have in common',
  description:
    'Entries of the same task, the same reason and the same first line of the error, with ids and numbers taken out. ' +
    'The group with the newest entry comes first. Counts are exact. A group that gets a new entry between two pages ' +
    'moves to the front, and so may be missing from the later page. For a tenant with more than 5,000 groups, a page ' +
    'may come back short, because it searches for the newest entry of each group: see `searched_to`.',
  tags: ['dead letters'],
  security: TENANT,
  docs: {
    querystring: DeadLetterGroupsQuery,
    ...tagged(ref(DeadLetterGroups), 'The groups.'),
  },
};

const getSchema = {
  operationId: 'getDeadLetter',
  summary: 'Get a dead letter',
  description: 'What failed, why, and whether it has been replayed.',
  tags: ['dead letters'],
  security: TENANT,
  docs: {
    params: DeadLetterParams,
    response: { 200: described(ref(DeadLetter), 'The dead letter.'), ...errors(400, 401, 403, 404, 503) },
  },
};

const replaySchema = {
  operationId: 'replayDeadLetter',
  summary: 'Replay a dead letter',
  description:
    'Creates a new job with the same task, payload, queue and config and a full retry budget. Works once per entry, ' +
    'and only until retention has removed the original job. The metadata of the new job is that of the first one, ' +
    'with `replayed_from_job` and `replayed_from_dead_letter` added; the replay of a replay names the very first job ' +
    'in `replayed_from_first`.',
  tags: ['dead letters'],
  security: TENANT,
  body: ref(ReplayRequest),
  docs: {
    params: DeadLetterParams,
    headers: IdempotentHeaders,
    response: {
      201: described(ref(JobCreated), 'The fresh job.', { headers: { ...JOB_LOCATION, ...REPLAYED } }),
      ...bodyErrors(403, 404, 409),
    },
  },
};
