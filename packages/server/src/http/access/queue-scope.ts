import type { FastifyRequest } from 'fastify';
import { forbidden, MillraceError } from '../../domain/errors.js';
import type { WorkerApi } from '../../engine/api.js';

/**
 * Worker tokens that are limited to some queues. A lease names its queue. Heartbeats and reports name a job, whose
 * queue never changes, so it is looked up: one more statement, for limited tokens only.
 */
const OTHER_QUEUE = forbidden('this worker token is limited to other queues');

/** The queues that the caller may take jobs of; null: all. */
function scopeOf({ principal }: FastifyRequest): ReadonlySet<string> | null {
  return principal?.kind === 'worker' ? principal.queues : null;
}

export function checkQueue(request: FastifyRequest, queue: string): void {
  const scope = scopeOf(request);
  if (scope !== null && !scope.has(queue)) throw OTHER_QUEUE;
}

/** A job that does not exist is refused by whoever looks for it next. */
export async function checkJob(request: FastifyRequest<{ Params: { id: string } }>, worker: WorkerApi): Promise<void> {
  const [refused] = await refuseOthers(request, worker, [{ id: request.params.id }]);
  if (refused instanceof MillraceError) throw refused;
}

/** Puts a refusal in the place of each item whose job is on a queue that the caller may not touch. */
export async function refuseOthers<Item extends { readonly id: string }>(
  request: FastifyRequest,
  worker: WorkerApi,
  items: readonly (Item | MillraceError)[],
): Promise<readonly (Item | MillraceError)[]> {
  const scope = scopeOf(request);
  if (scope === null) return items;
  const ids = items.flatMap((item) => (item instanceof MillraceError ? [] : [item.id]));
  const queues = await worker.queuesOf(ids);
  return items.map((item) => {
    if (item instanceof MillraceError) return item;
    const queue = queues.get(item.id.toLowerCase());
    if (queue instanceof MillraceError) return queue;
    return queue === undefined || scope.has(queue) ? item : OTHER_QUEUE;
  });
}
