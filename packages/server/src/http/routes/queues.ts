import { QueueDetail, QueueParams, ref } from '@millrace/contract';
import type { FastifyInstance } from 'fastify';
import { sendTagged } from '../answers/etag.js';
import type { HttpContext } from '../context.js';
import { queueName } from '../requests/queue-name.js';
import { tagged, TENANT } from './route-docs.js';

/** One queue. The list of them is among the system's routes. */
export function queueRoutes(app: FastifyInstance, { engine }: HttpContext): void {
  app.get<{ Params: { queue: string } }>('/queues/:queue', { schema: queueSchema }, async (request, reply) => {
    const detail = await engine.insight.queue(request.tenant, queueName(request.params.queue));
    return sendTagged(request, reply, JSON.stringify(detail));
  });
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
