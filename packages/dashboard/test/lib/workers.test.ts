import { expect, test } from 'vitest';
import { wholeWorkers } from '../../src/lib/workers.js';

const NOW = Date.parse('2031-01-01T00:00:00Z');
const row = (queue_name: string, running: number, slots: number | null, in_use: number | null): object => ({
  ...{ worker_id: 'w', queue_name, running, slots, in_use, running_jobs: [], tasks: null },
  ...{ completed: 0, failed: 0, expired: 0 },
  ...{ first_seen_at: '2030-12-31T23:30:00Z', last_seen_at: '2031-01-01T00:00:00Z' },
});
const whole = (...rows: readonly object[]) => wholeWorkers(rows as Parameters<typeof wholeWorkers>[0], NOW)[0];

test('slots in use are those of queues that say how many there are, and never more', () => {
  expect(whole(row('a', 1, 4, 2), row('b', 3, 2, 2))).toMatchObject({ slots: 6, inUse: 4, running: 4, forOthers: 1 });
  expect(whole(row('a', 3, 3, 3), row('silent', 1, null, null))).toMatchObject({ slots: 3, inUse: 3, running: 4 });
  expect(whole(row('a', 4, 3, 4))).toMatchObject({ slots: 3, inUse: 3, running: 4, forOthers: 0 });
  expect(whole(row('silent', 1, null, null))).toMatchObject({ slots: null, running: 1, forOthers: 0 });
});
