import { QueueDetail, QueueParams, ref, Workers } from '@millrace/contract';
import type { FastifyInstance } from 'fastify';
import { sendTagged } from '../answers/etag.js';
import type { HttpContext } from '../context.js';
import { queueName } from '../requests/queue-name.js';
import { tagged, TENANT } from './route-docs.js';

/** One queue, and who works on which. The list of queues is among the system's routes. */
export function queueRoutes(app: FastifyInstance, { engine }: HttpContext): void {
  app.get<{ Params: { queue: string } }>('/queues/:queue', { schema: queueSchema }, async (request, reply) => {
    const detail = await engine.insight.queue(request.tenant, queueName(request.params.queue));
    return sendTagged(request, reply, JSON.stringify(detail));
  });

  app.get('/workers', { schema: workersSchema }, async (request, reply) =>
    sendTagged(request, reply, JSON.stringify({ workers: await engine.insight.workers(request.tenant) })),
  );
}

const queueSchema = {
  operationId: 'getQueue',
  summary: 'Look into a queue',
  description:
    "Its depth, what waits and runs by task, and the caller's first 20 jobs in claim order. `by_task` counts up to " +
    '20,000 jobs, and `next` looks through the first 20,000 of the queue. A queue without jobs of the caller is all zeros.',
  tags: ['system'],
  security: TENANT,
  docs: { params: QueueParams, ...tagged(ref(QueueDetail), 'The queue.') },
};

const workersSchema = {
  operationId: 'listWorkers',
  summary: 'Workers and what they do',
  description:
    "Workers that held the caller's jobs in the last hour, the last seen first, at most 1,000: by the `worker_id` of " +
    'their leases, or by the name of a server process. Workers that give no `worker_id` are left out. What another ' +
    'process of the service saw is up to 15 seconds behind.',
  tags: ['system'],
  security: TENANT,
  docs: tagged(ref(Workers), 'The workers.'),
};
