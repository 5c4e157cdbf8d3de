import { describe, expect, it } from 'vitest';
import { AfterCommit } from '../../../src/engine/outcomes/after-commit.js';
import { Cancellation } from '../../../src/engine/outcomes/cancel.js';
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

  it.each([
    ['cancel_waiting', true],
    ['cancel_waiting', false],
    ['settle', true],
    ['settle', false],
  ] as const)('goes on until it has found them: %s, workflows locked: %s', async (rests, workflowsLocked) => {
    const { run, seen } = movingJob(30, rests);
    await new Cancellation(run, 't', new AfterCommit(), { workflowsLocked }).all([JOB]);
    expect(seen()).toBeGreaterThan(30);
  });

  it('fails rather than leave one behind', async () => {
    const { run } = movingJob(Infinity, 'settle');
    const cancellation = new Cancellation(run, 't', new AfterCommit());
    await expect(cancellation.all([JOB])).rejects.toMatchObject({ code: 'unavailable' });
  });
});
