import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { freshTask, until, useWorkerKit } from '../support/worker-kit.js';

const JOBS = 300;

describe('workers that come and go under load', async () => {
  const { millrace, start } = await useWorkerKit();

  it('run every job once', async () => {
    const short = freshTask('short');
    const runs = new Map<number, number>();
    const handler = short.handle(async ({ n }) => {
      await sleep(n % 30);
      runs.set(n, (runs.get(n) ?? 0) + 1);
    });
    const handles = await millrace.enqueueMany(Array.from({ length: JOBS }, (_, n) => short.with({ n })));
    let sum = 0;
    // Each is stopped at another instant: while polling, running, reporting.
    for (let round = 0; sum < JOBS; round++) {
      const { worker, running } = start([handler], { queues: { [short.queue]: 8 }, shutdown: '1h' });
      await until(() => worker.health.held > 0 || runs.size === JOBS);
      await sleep(13 * round);
      await worker.stop();
      const { completed, failed, released } = (await running) as Record<string, number>;
      expect(failed).toBe(0);
      expect(released).toBeLessThanOrEqual(8);
      sum += completed!;
    }
    expect(sum).toBe(JOBS);
    expect([...runs.values()].filter((times) => times !== 1)).toEqual([]);
    const records = await Promise.all(handles.map((handle) => handle.get()));
    expect(records.filter(({ status, retryCount }) => status !== 'completed' || retryCount !== 0)).toEqual([]);
  });
});
