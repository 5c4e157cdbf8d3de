import { describe, expect, it } from 'vitest';
import { AfterCommit } from '../../../src/engine/outcomes/after-commit.js';
import { cancelAll } from '../../../src/engine/workflows/cancel-steps.js';
import type { Execute } from '../../../src/store/connection/database.js';

/**
 * A job that is claimed and given back between any two looks, which no race on a real database can be made to do at
 * will.
 */
describe('cancelling jobs that move', () => {
  const JOB = '019bd0e5-7c58-7a5f-a000-2f9f6a0f8f10';

  /** Each look finds nothing, until the job stands still in one place. */
  function movingJob(looks: number, rests: 'cancel_waiting' | 'settle'): { run: Execute; seen: () => number } {
    let seen = 0;
    const run: Execute = async (statement) => {
      if (++seen <= looks || statement.name !== rests) return [];
      return [{ id: JOB, outcome: 'cancelled', tenant: 't', run_secs: 0, watched: 0, queue: null }] as never[];
    };
    return { run, seen: () => seen };
  }

  it.each(['cancel_waiting', 'settle'] as const)('goes on until it has found them: %s', async (rests) => {
    const { run, seen } = movingJob(30, rests);
    await cancelAll(run, 't', [JOB], new AfterCommit());
    expect(seen()).toBeGreaterThan(30);
  });

  it('fails rather than leave one behind', async () => {
    const { run } = movingJob(Infinity, 'settle');
    await expect(cancelAll(run, 't', [JOB], new AfterCommit())).rejects.toMatchObject({ code: 'unavailable' });
  });
});
