import { afterAll, describe, expect, it } from 'vitest';
import { cloneDatabase } from '../../support/database.js';
import { startTestServer, type TestServer } from '../../support/server.js';
import { until } from '../../support/until.js';
import { complete, createJob, createJobs, heartbeat, lease, leaseOne, newQueue, NEWS_ALONE, waitFor } from '../kit.js';
import { LONGEST_WAIT_SECS, inTime, longPolls } from '../waiting.js';

describe('a paused queue', async () => {
  const database = await cloneDatabase();
  const one = await startTestServer({ database, config: { mode: 'api' }, intervals: NEWS_ALONE });
  const two = await startTestServer({ database, intervals: NEWS_ALONE });
  const { a, b, admin } = one;
  afterAll(async () => {
    await Promise.all([one.stop(), two.stop()]);
    await database.drop();
  });
  const change = async (what: 'pause' | 'resume', queue: string): Promise<void> => {
    const reply = await admin.post(`/api/v1/admin/queues/${encodeURIComponent(queue)}/${what}`);
    expect(reply.status, reply.text).toBe(204);
  };
  const pausedAt = async (queue: string): Promise<string | null | undefined> => {
    const queues = (await a.get('/api/v1/queues')).body.queues as { queue: string; paused_at: string | null }[];
    return queues.find((each) => each.queue === queue)?.paused_at;
  };

  it('yields no job in any process, whoever owns it and whenever it is due, while what runs goes on', async () => {
    const queue = 'ü/paused queue';
    await createJobs(a, queue, 3, { priority: 5 });
    const running = await leaseOne(two.worker, queue);
    await change('pause', queue);
    await createJob(b, queue);
    for (const { worker } of [one, two]) expect(await lease(worker, queue, { max_jobs: 10 })).toEqual([]);
    expect((await heartbeat(two.worker, running)).status).toBe(200);
    expect((await complete(two.worker, running)).status).toBe(204);
    await change('resume', queue);
    expect(await lease(two.worker, queue, { max_jobs: 10 })).toHaveLength(3);
  });

  it('yields none of the jobs that fell due while it was paused, either', async () => {
    const queue = newQueue();
    await createJob(a, queue, { delay_secs: 1 });
    await change('pause', queue);
    const due = 'SELECT FROM millrace.ready WHERE queue = $1 AND scheduled_at <= now()';
    await until(async () => (await database.query(due, [queue])).length === 1, { what: 'the job to fall due' });
    expect(await lease(one.worker, queue)).toEqual([]);
    await change('resume', queue);
    expect(await lease(one.worker, queue)).toHaveLength(1);
  });

  it('is told, and stays paused since when it was', async () => {
    const queue = newQueue();
    await createJob(a, queue);
    expect(await pausedAt(queue)).toBeNull();
    await change('pause', queue);
    const at = await pausedAt(queue);
    expect(at).toEqual(expect.any(String));
    await change('pause', queue);
    expect(await pausedAt(queue)).toBe(at);
    await change('resume', queue);
    await change('resume', queue);
    expect(await pausedAt(queue)).toBeNull();
  });

  it('is exact: no claim that begins after the answer takes a job, however many are under way', async () => {
    const queue = newQueue();
    await createJobs(a, queue, 2000);
    let pausedFrom = Infinity;
    const late: number[] = [];
    let taken = 0;
    let paused = (): void => undefined;
    const isPaused = new Promise<void>((resolve) => (paused = resolve));
    const work = async ({ worker }: TestServer): Promise<void> => {
      for (;;) {
        // However long the pause takes, there is something left to take.
        if (taken > 1500) await isPaused;
        const begun = performance.now();
        const jobs = await lease(worker, queue, { max_jobs: 3 });
        taken += jobs.length;
        if (begun > pausedFrom) {
          late.push(jobs.length);
          return;
        }
      }
    };
    const workers = Array.from({ length: 12 }, (_, n) => work(n % 2 ? one : two));
    await until(() => taken > 100, { what: 'the workers to be busy' });
    await change('pause', queue);
    pausedFrom = performance.now();
    paused();
    await Promise.all(workers);
    expect(late).toEqual(Array.from({ length: 12 }, () => 0));
    expect(taken).toBeLessThan(2000);
  });

  it('lets calls wait, without asking again and again, and wakes them when it is resumed, in every process', async () => {
    const found = await inTime(LONGEST_WAIT_SECS, async (time) => {
      const queue = newQueue();
      await change('pause', queue);
      await createJobs(a, queue, 2);
      const polls = [one, two].map(({ worker }) => lease(worker, queue, { wait_secs: LONGEST_WAIT_SECS }));
      const bothWait = async (): Promise<boolean> => (await longPolls(one)) === 1 && (await longPolls(two)) === 1;
      await until(async () => time.isUp || (await bothWait()));
      // New work wakes the calls, in vain.
      await createJob(a, queue);
      await until(async () => time.isUp || (await bothWait()));
      await change('resume', queue);
      return Promise.all(polls);
    });
    expect(found.map((jobs) => jobs.length)).toEqual([1, 1]);
  });

  it('answers a call with nothing when its time is up', async () => {
    const queue = newQueue();
    await createJob(a, queue);
    await change('pause', queue);
    expect(await lease(one.worker, queue, { wait_secs: 1 })).toEqual([]);
  });

  it('rests the pool of a server too, which goes on at once when it is resumed', async () => {
    await change('pause', 'default');
    const id = await createJob(a, 'default', { task_name: 'echo' });
    await createJob(a, 'default', { task_name: 'echo' });
    expect(await lease(one.worker, 'default')).toEqual([]);
    expect((await a.get(`/api/v1/jobs/${id}?wait_secs=1`)).body.status).toBe('pending');
    await change('resume', 'default');
    await waitFor(a, id, 'completed');
  });
});
