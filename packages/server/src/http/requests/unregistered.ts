import type { FastifyRequest } from 'fastify';
import { noServerRuns } from '../../domain/text.js';
import type { HttpContext } from '../context.js';

/** How many tasks the warnings of one request name. */
const MOST_NAMED = 10;

interface Named {
  readonly task: string;
  readonly queue: string;
}

/**
 * Jobs of the default queue are run by the processes of the service, which fail what they do not know within
 * milliseconds. Whoever creates one that nobody has registered is told where remote workers look instead. A create
 * never fails because of it.
 */
export async function warnOfUnregistered(
  request: FastifyRequest,
  { engine, defaultQueue }: HttpContext,
  jobs: readonly Named[],
): Promise<void> {
  const tasks = new Set<string>();
  for (const { task, queue } of jobs) if (queue === defaultQueue) tasks.add(task);
  if (tasks.size === 0) return;
  const missing = await engine.system.unregistered([...tasks]).catch(() => []);
  if (missing.length === 0) return;
  const named = missing.slice(0, MOST_NAMED).map(noServerRuns);
  request.warnings = [...(request.warnings ?? []), ...named];
}
