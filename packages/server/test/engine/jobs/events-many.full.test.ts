import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { useTestServer } from '../../support/server.js';
import { until } from '../../support/until.js';
import { complete, createJob, createJobs, lease, newQueue } from '../kit.js';
import { openEvents, statusesOf } from './sse.js';

const LIFE = ['pending', 'running', 'completed'];
const CONNECTIONS = 4;

describe('many event streams', async () => {
  const { a, worker, database, metricsUrl } = await useTestServer({
    config: { maxDbConnections: CONNECTIONS, workers: 4 },
  });
  const metric = async (name: string): Promise<number> => {
    const page = await (await fetch(`${metricsUrl}/metrics`)).text();
    return Number(new RegExp(`^${name} (\\d+)`, 'm').exec(page)?.[1]);
  };

  it('opened at any moment of a fast job see the rest of its life, in order', async () => {
    const watch = async (): Promise<void> => {
      const task = Math.random() < 0.5 ? 'echo' : 'sleep';
      const id = await createJob(a, 'default', { task_name: task, payload: { duration_ms: 5 } });
      await delay(Math.random() * 20);
      const statuses = statusesOf(await (await openEvents(a, id)).rest());
      expect(statuses.length).toBeGreaterThan(0);
      expect(statuses).toEqual(LIFE.slice(-statuses.length));
    };
    const watchInTurn = async (): Promise<void> => {
      for (let i = 0; i < 10; i++) await watch();
    };
    await Promise.all(Array.from({ length: 20 }, watchInTurn));
  });

  it('share a few connections by the hundred, and all of them see everything', async () => {
    const queue = newQueue();
    const ids = await createJobs(a, queue, 100);
    // Three watchers per job.
    const streams = await Promise.all([...ids, ...ids, ...ids].map((id) => openEvents(a, id)));
    for (const events of streams) expect((await events.next())?.status).toBe('pending');
    expect(await metric('millrace_event_streams')).toBe(300);
    const [row] = await database.query<{ n: number }>(
      `SELECT count(*)::int AS n FROM pg_stat_activity
       WHERE datname = current_database() AND application_name = 'millrace'`,
    );
    expect(row!.n).toBeLessThanOrEqual(CONNECTIONS);

    const leased = await lease(worker, queue, { max_jobs: 100 });
    expect(leased).toHaveLength(100);
    await Promise.all(leased.map((leasedJob) => complete(worker, leasedJob, { id: leasedJob.job.id })));
    const lives = await Promise.all(streams.map((events) => events.rest()));
    lives.forEach((states, i) => {
      expect(statusesOf(states)).toEqual(['running', 'completed']);
      expect(states[1]!.result).toEqual({ id: ids[i % 100] });
    });
    await until(async () => (await metric('millrace_event_streams')) === 0);
  });
});
