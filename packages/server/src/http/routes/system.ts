import { Health, QueueListQuery, Queues, Ready, ref, Stats, Tasks } from '@millrace/contract';
import type { FastifyInstance } from 'fastify';
import { unavailable } from '../../domain/errors.js';
import type { HttpContext } from '../context.js';
import { sendTagged } from '../answers/etag.js';
import { sendJson } from '../answers/reply.js';
import { queueListQuery, type QueryParameters } from '../requests/list-parameters.js';
import { described, errors, PUBLIC, tagged, TENANT } from './route-docs.js';

/** For monitoring: no credential is needed, and /health never queries the database. */
export function probeRoutes(app: FastifyInstance, { engine, version, isShuttingDown }: HttpContext): void {
  app.get('/health', { schema: healthSchema }, (_request, reply) =>
    sendJson(reply, 200, JSON.stringify({ status: 'healthy', timestamp: new Date().toISOString(), version })),
  );

  app.get('/ready', { schema: readySchema }, async (_request, reply) => {
    if (isShuttingDown()) throw unavailable('the server is stopping');
    if (!(await engine.system.ready())) throw unavailable('the database is out of reach or its schema is not current');
    return sendJson(reply, 200, JSON.stringify({ status: 'ready', cells: engine.system.cells?.() }));
  });
}

export function systemRoutes(app: FastifyInstance, { engine }: HttpContext): void {
  app.get('/stats', { schema: statsSchema }, (request, reply) =>
    sendJson(reply, 200, JSON.stringify(engine.system.stats(request.tenant))),
  );

  app.get('/tasks', { schema: tasksSchema }, async (_request, reply) =>
    sendJson(reply, 200, JSON.stringify({ tasks: await engine.system.tasks() })),
  );

  app.get<{ Querystring: QueryParameters }>('/queues', { schema: queuesSchema }, async (request, reply) => {
    const { queues, nextCursor } = await engine.jobs.queues(request.tenant, queueListQuery(request.query));
    const more = nextCursor === null ? {} : { has_more: true, next_cursor: nextCursor };
    return sendTagged(request, reply, JSON.stringify({ queues, ...more }));
  });
}

const healthSchema = {
  operationId: 'getHealth',
  summary: 'Whether the process is alive',
  description: 'Answers as long as the process does. It never asks the database.',
  tags: ['system'],
  security: PUBLIC,
  docs: { response: { 200: described(ref(Health), 'The process lives.'), ...errors(400) } },
};

const readySchema = {
  operationId: 'getReady',
  summary: 'Whether the server can do its work',
  description:
    'Asks the database, at most once per second, and answers 503 while the server starts or stops: the answer may be ' +
    'a second old. A service on several databases is ready while one of them answers; `cells` tells which do.',
  tags: ['system'],
  security: PUBLIC,
  docs: {
    response: {
      200: described(ref(Ready), 'The database answers and its schema is current.'),
      ...errors(400, 503),
    },
  },
};

const statsSchema = {
  operationId: 'getStats',
  summary: 'Counters of this process',
  description: "For the caller's tenant, since the process started. Other processes count for themselves.",
  tags: ['system'],
  security: TENANT,
  docs: { response: { 200: described(ref(Stats), 'The counters.'), ...errors(400, 401) } },
};

const tasksSchema = {
  operationId: 'listTasks',
  summary: 'Tasks that servers run',
  description:
    'The same for every tenant. They run on the default queue. A process in mode `api` also lists those of the ' +
    'processes that were seen in the last five minutes.',
  tags: ['system'],
  security: TENANT,
  docs: { response: { 200: described(ref(Tasks), 'Their names.'), ...errors(400, 401, 503) } },
};

const queuesSchema = {
  operationId: 'listQueues',
  summary: 'Queues and their depth',
  description:
    "Queues that hold unfinished jobs of the caller's tenant, in the order of their names, at most 1,000 of them per " +
    'page. With `idle=true` also queues that hold none, with zeros, from 15 seconds after their first job until 60 ' +
    'days after their last one; of a tenant with more than 99 pairs of queue and task, those that came first. Counts ' +
    'are current, unless 100,000 jobs or more wait: then those of the first page may be two seconds old for each ' +
    '100,000, at most 30 seconds.',
  tags: ['system'],
  security: TENANT,
  docs: { querystring: QueueListQuery, ...tagged(ref(Queues), 'A page, or all of them.') },
};
