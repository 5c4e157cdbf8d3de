import { once } from 'node:events';
import { Worker } from 'node:worker_threads';

/**
 * Runs a script of `actors/` in a thread of its own for as long as `during` runs; resolves to what it reports when it
 * is told to stop.
 */
export async function besideThread<R>(script: string, order: object, during: () => Promise<void>): Promise<R> {
  const thread = new Worker(new URL(`../actors/${script}.js`, import.meta.url), { workerData: order });
  const failed = once(thread, 'error').then(([error]) => {
    throw error as Error;
  });
  try {
    await Promise.race([during(), failed]);
    const told = once(thread, 'message') as Promise<[R]>;
    thread.postMessage('stop');
    const [report] = await Promise.race([told, failed]);
    return report;
  } finally {
    failed.catch(() => undefined);
    await thread.terminate();
  }
}
