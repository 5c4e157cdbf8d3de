import { expect, it } from 'vitest';
import { adminOver } from '../../src/cells/admin.js';

/** What one database tells operators, as of an instant. */
function cellAt(now: string): any {
  const count = { n: 0, exact: true };
  const figures = { tenants: 1, queues: 0, paused_queues: [], jobs: {}, workflows: {}, dead_letters: count };
  const ages = { oldest_pending_age_secs: null, oldest_past_retention_secs: null };
  const admin = { overview: async () => ({ now, ...figures, ...ages }), queues: async () => [] };
  return { name: now, isAway: () => false, engine: { api: { admin } } };
}

it('the overview of several databases is as old as the oldest count in it', async () => {
  const instants = ['2030-01-01T00:00:10.5Z', '2030-01-01T00:00:09Z', '2030-01-01T00:00:09.25Z'];
  const { now, tenants } = await adminOver(instants.map(cellAt)).overview(() => undefined);
  expect([now, tenants]).toEqual(['2030-01-01T00:00:09Z', 3]);
});
