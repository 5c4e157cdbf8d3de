import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, expect, it } from 'vitest';
import { startTestServer, useTestServer, WORKER_TOKEN } from '../../support/server.js';
import { until } from '../../support/until.js';
import { blockClaimOf } from '../blocking.js';
import {
  comparable,
  createJob,
  createJobs,
  fail,
  getJob,
  idsOf,
  inSeconds,
  lease,
  leaseOne,
  newQueue,
} from '../kit.js';

const server = await useTestServer({ config: { mode: 'api' } });
const { a, worker, database } = server;

/** Waiting calls, as the server counts them. */
const waiting = async (): Promise<number> => {
  const page = await (await fetch(`${server.metricsUrl}/metrics`)).text();
  return Number(/^millrace_long_polls (\d+)/m.exec(page)?.[1]);
};

/** What a promise brings, and after how many seconds. */
/** Longer than any machine needs to answer: an answer within half of it did not come because the time was over. */
const LONG_SECS = 30;

async function timed<T>(work: Promise<T>): Promise<{ readonly value: T; readonly secs: number }> {
  const startedAt = performance.now();
  const value = await work;
  return { value, secs: (performance.now() - startedAt) / 1000 };
}

/** Concurrent, because each spends its time waiting. */
describe.concurrent('a long poll', () => {
  it('on an empty queue lasts as long as asked and comes back empty', async () => {
    const { value, secs } = await timed(lease(worker, newQueue(), { wait_secs: 2 }));
    expect(value).toEqual([]);
    expect(secs).toBeGreaterThan(1.95);
  });

  it('does not last without wait_secs', async () => {
    const [without, long] = await Promise.all([
      timed(lease(worker, newQueue())),
      timed(lease(worker, newQueue(), { wait_secs: 4 })),
    ]);
    expect(without.secs).toBeLessThan(long.secs);
  });

  it('answers when a job falls due, and not before', async () => {
    const queue = newQueue();
    const id = await createJob(a, queue, { run_at: inSeconds(1.5) });
    const [leased] = await lease(worker, queue, { wait_secs: LONG_SECS });
    expect(leased?.job.id).toBe(id);
    const late = Date.parse(leased!.job.started_at!) - Date.parse(leased!.job.scheduled_at);
    expect(late).toBeGreaterThanOrEqual(0);
    expect(late).toBeLessThan((LONG_SECS / 2) * 1000);
  });

  it('answers when the backoff of a retry is over, and not before', async () => {
    const queue = newQueue();
    const id = await createJob(a, queue, { config: { retry_delay_secs: 1, jitter_factor: 0 } });
    await fail(worker, await leaseOne(worker, queue));
    const [leased] = await lease(worker, queue, { wait_secs: LONG_SECS });
    expect(leased?.job).toMatchObject({ id, delivery_count: 2, retry_count: 1 });
    expect(comparable(leased!.job.started_at) >= comparable(leased!.job.scheduled_at)).toBe(true);
  });

  it('of many callers as many are answered as there are jobs, and nobody gets two', async () => {
    const queue = newQueue();
    const polls = Array.from({ length: 12 }, () => lease(worker, queue, { wait_secs: 3 }));
    const ids = await createJobs(a, queue, 5);
    const answers = await Promise.all(polls);
    expect(answers.flatMap(idsOf).sort()).toEqual([...ids].sort());
    expect(answers.filter((jobs) => jobs.length > 1)).toEqual([]);
  });
});

describe('a long poll on a queue that was found idle before', () => {
  /** A call that ended with nothing: the server knows now that nothing is due there. */
  const idleQueue = async (): Promise<string> => {
    const queue = newQueue();
    expect(await lease(worker, queue, { wait_secs: 1 })).toEqual([]);
    return queue;
  };

  it('answers when a job is put on it between two calls', async () => {
    const queue = await idleQueue();
    const id = await createJob(a, queue);
    const { value, secs } = await timed(lease(worker, queue, { wait_secs: LONG_SECS }));
    expect(idsOf(value)).toEqual([id]);
    expect(secs).toBeLessThan(LONG_SECS / 2);
  });

  it('answers when a job was put on it that nobody announced', async () => {
    const queue = await idleQueue();
    const id = await createJob(a, newQueue());
    await database.query('UPDATE millrace.jobs SET queue = $2 WHERE id = $1', [id, queue]);
    await database.query('UPDATE millrace.ready SET queue = $2 WHERE id = $1', [id, queue]);
    const { value, secs } = await timed(lease(worker, queue, { wait_secs: LONG_SECS }));
    expect(idsOf(value)).toEqual([id]);
    expect(secs).toBeLessThan(LONG_SECS / 2);
  });

  it('finds by itself, within five seconds, a job that nobody announces while it waits', async () => {
    const queue = await idleQueue();
    const polling = timed(lease(worker, queue, { wait_secs: LONG_SECS }));
    await until(async () => (await waiting()) === 1);
    const id = await createJob(a, newQueue());
    await database.query('UPDATE millrace.jobs SET queue = $2 WHERE id = $1', [id, queue]);
    await database.query('UPDATE millrace.ready SET queue = $2 WHERE id = $1', [id, queue]);
    const { value, secs } = await polling;
    expect(idsOf(value)).toEqual([id]);
    expect(secs).toBeLessThan(7);
  });

  it('answers when a job that was scheduled before falls due', async () => {
    const queue = newQueue();
    const id = await createJob(a, queue, { run_at: inSeconds(3) });
    expect(await lease(worker, queue, { wait_secs: 1 })).toEqual([]);
    const [leased] = await lease(worker, queue, { wait_secs: LONG_SECS });
    expect(leased?.job.id).toBe(id);
    expect(Date.parse(leased!.job.started_at!) - Date.parse(leased!.job.scheduled_at)).toBeLessThan(2_500);
  });
});

/** One after the other, because they count who waits at the server. */
describe('a call that waits at an empty queue', () => {
  it('answers as soon as a job is put on the queue', async () => {
    const queue = newQueue();
    const polling = lease(worker, queue, { wait_secs: LONG_SECS });
    await until(async () => (await waiting()) === 1);
    const startedAt = performance.now();
    const id = await createJob(a, queue);
    expect(idsOf(await polling)).toEqual([id]);
    // Far below the safety poll: it was told, it did not look by chance.
    expect(performance.now() - startedAt).toBeLessThan(2_500);
  });

  it('a nearer job that comes later moves the alarm', async () => {
    const queue = newQueue();
    await createJob(a, queue, { run_at: inSeconds(600) });
    const polling = lease(worker, queue, { wait_secs: LONG_SECS });
    await until(async () => (await waiting()) === 1);
    const id = await createJob(a, queue, { run_at: inSeconds(0.8), config: { priority: -1 } });
    const { value, secs } = await timed(polling);
    expect(idsOf(value)).toEqual([id]);
    expect(secs).toBeLessThan(4);
  });

  it('whose client hung up claims nothing', async () => {
    const queue = newQueue();
    const hangUp = new AbortController();
    const polling = worker.send('POST', `/api/v1/queues/${queue}/lease`, {
      body: { wait_secs: 30, max_jobs: 100 },
      signal: hangUp.signal,
    });
    await until(async () => (await waiting()) === 1);
    hangUp.abort();
    await expect(polling).rejects.toThrow();
    await until(async () => (await waiting()) === 0);
    const id = await createJob(a, queue);
    const { job } = await leaseOne(worker, queue);
    expect(job).toMatchObject({ id, delivery_count: 1, retry_count: 0 });
  });
});

describe('a client that hangs up while its claim is in flight', () => {
  /**
   * The job, about to be claimed for a client that is gone, and the server knows it: what follows is up to the test.
   */
  async function claimForNobody(queue: string, id: string): Promise<() => Promise<void>> {
    const block = await blockClaimOf(database, id);
    const { hostname, port } = new URL(server.url);
    const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
    const body = '{"wait_secs":5}';
    socket.write(
      `POST /api/v1/queues/${queue}/lease HTTP/1.1\r\nhost: test\r\nauthorization: Bearer ${WORKER_TOKEN}\r\n` +
        `content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
    );
    await block.held();
    // The server ends its side when it has seen the end of ours.
    socket.resume().end();
    await once(socket, 'close');
    return () => block.release();
  }

  it('leaves the job as it was', async () => {
    const queue = newQueue();
    const id = await createJob(a, queue);
    const before = await getJob(a, id);
    const release = await claimForNobody(queue, id);
    const next = lease(worker, queue, { wait_secs: 10 });
    await release();
    const [leased] = await next;
    expect(leased?.job).toMatchObject({ id, delivery_count: 1, retry_count: 0, scheduled_at: before.scheduled_at });
    // Handed back and claimed again, and not waited for until the next look.
    expect(Date.parse(leased!.job.started_at!) - Date.parse(before.created_at)).toBeLessThan(4_000);
  });

  it('leaves the job as it was even if it cannot be put back at once', async () => {
    const queue = newQueue();
    await database.query(`
      CREATE TABLE public.refusals (queue text);
      CREATE FUNCTION public.refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        IF EXISTS (SELECT FROM public.refusals r WHERE r.queue = NEW.queue) THEN RAISE 'refused'; END IF;
        RETURN NEW;
      END $$;
      CREATE TRIGGER refuse BEFORE INSERT ON millrace.ready FOR EACH ROW EXECUTE FUNCTION public.refuse()`);
    const id = await createJob(a, queue);
    const release = await claimForNobody(queue, id);
    await database.query('INSERT INTO public.refusals VALUES ($1)', [queue]);
    await release();
    await until(async () => (await getJob(a, id)).status === 'running');
    await database.query('DROP TRIGGER refuse ON millrace.ready');
    const job = await until(async () => {
      const now = await getJob(a, id);
      return now.status === 'pending' && now;
    });
    expect(job).toMatchObject({ delivery_count: 0, retry_count: 0, started_at: null });
    expect(await leaseOne(worker, queue)).toMatchObject({ job: { id, delivery_count: 1 } });
  });

  it('because the server stops leaves the job to the others', async () => {
    const stopping = await startTestServer({ database, config: { mode: 'api' } });
    const queue = newQueue();
    const id = await createJob(a, queue);
    const block = await blockClaimOf(database, id);
    const polling = lease(stopping.worker, queue, { wait_secs: LONG_SECS });
    await block.held();
    const stopped = stopping.stop();
    expect(await polling).toEqual([]);
    await block.release();
    await stopped;
    expect(await getJob(a, id)).toMatchObject({ status: 'pending', delivery_count: 0, started_at: null });
  });
});
