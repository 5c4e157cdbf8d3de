import { setTimeout as sleep } from 'node:timers/promises';
import { onTestFinished } from 'vitest';
import { lease, type Leased } from '../../../server/test/engine/kit.js';
import type { Client } from '../../../server/test/support/client.js';
import { until } from '../../../server/test/support/until.js';

/** The next job of a queue, as soon as there is one, and for longer than any page takes to show what it should. */
export const nextOf = (worker: Client, queue: string, fields: object = {}): Promise<Leased> =>
  until(async () => (await lease(worker, queue, { max_jobs: 1, wait_secs: 30, ...fields }))[0], {
    what: `a job on ${queue}`,
  });

/** Asks as workers do, until the test ends: of those who have not asked for a minute no slots are shown. */
export async function keepAsking(ask: () => Promise<unknown>): Promise<void> {
  await ask();
  const over = new AbortController();
  const asking = (async () => {
    while (!over.signal.aborted) {
      await sleep(5_000, undefined, { signal: over.signal }).catch(() => undefined);
      await ask();
    }
  })();
  onTestFinished(async () => {
    over.abort();
    await asking;
  });
}
