import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, expect, it } from 'vitest';
import { SAFETY_MS } from '../../../src/engine/leases/idle-queues.js';
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
  NEWS_ALONE,
} from '../kit.js';
import { createSilently } from '../silent.js';
import { inTime, leaseNext, LONGEST_WAIT_SECS } from '../waiting.js';

/** Whoever is answered here was told, or had set an alarm: no look comes to the rescue. */
const server = await useTestServer({ config: { mode: 'api' }, intervals: NEWS_ALONE });
const { a, worker, database } = server;

/** Waiting calls, as the server counts them. */
const waiting = async ({ metricsUrl } = server): Promise<number> => {
  const page = await (await fetch(`${metricsUrl}/metrics`)).text();
  return Number(/^millrace_long_polls (\d+)/m.exec(page)?.[1]);
};

const LONG_SECS = LONGEST_WAIT_SECS;

/** What a promise brings, and after how many seconds. */
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
    await inTime(LONG_SECS, async () => {
      const hangUp = new AbortController();
      const [path, body] = [`/api/v1/queues/${newQueue()}/lease`, { wait_secs: LONG_SECS }];
      let lasts = true;
      const long = worker.send('POST', path, { body, signal: hangUp.signal }).finally(() => (lasts = false));
      expect(await lease(worker, newQueue())).toEqual([]);
      expect(lasts).toBe(true);
      hangUp.abort();
      await expect(long).rejects.toThrow();
    });
  });

  it('answers when a job falls due, and not before', async () => {
    await inTime(LONG_SECS, async () => {
      const queue = newQueue();
      const id = await createJob(a, queue, { run_at: inSeconds(1.5) });
      const [leased] = await lease(worker, queue, { wait_secs: LONG_SECS });
      expect(leased?.job.id).toBe(id);
      expect(comparable(leased!.job.started_at) >= comparable(leased!.job.scheduled_at)).toBe(true);
    });
  });

  it('answers when the backoff of a retry is over, and not before', async () => {
    await inTime(LONG_SECS, async () => {
      const queue = newQueue();
      const id = await createJob(a, queue, { config: { retry_delay_secs: 1, jitter_factor: 0 } });
      await fail(worker, await leaseOne(worker, queue));
      const [leased] = await lease(worker, queue, { wait_secs: LONG_SECS });
      expect(leased?.job).toMatchObject({ id, delivery_count: 2, retry_count: 1 });
      expect(comparable(leased!.job.started_at) >= comparable(leased!.job.scheduled_at)).toBe(true);
    });
  });

  it('of many callers as many are answered as there are jobs, and nobody gets two', async () => {
    await inTime(LONG_SECS, async () => {
      const queue = newQueue();
      const answers: string[][] = [];
      const polls = Array.from({ length: 12 }, async () => {
        answers.push(idsOf(await lease(worker, queue, { wait_secs: LONG_SECS })));
      });
      const first = await createJobs(a, queue, 5);
      await until(() => answers.length >= 5, { what: 'five answers' });
      expect(answers.flat().sort()).toEqual([...first].sort());
      const others = await createJobs(a, queue, 7);
      await Promise.all(polls);
      expect(answers.flat().sort()).toEqual([...first, ...others].sort());
      expect(answers.filter((ids) => ids.length !== 1)).toEqual([]);
    });
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
    expect(idsOf(await lease(worker, queue, { wait_secs: LONG_SECS }))).toEqual([id]);
  });

  it('answers when a job was put on it that nobody announced', async () => {
    const queue = await idleQueue();
    const id = await createJob(a, newQueue());
    await database.query('UPDATE millrace.jobs SET queue = $2 WHERE id = $1', [id, queue]);
    await database.query('UPDATE millrace.ready SET queue = $2 WHERE id = $1', [id, queue]);
    expect(idsOf(await lease(worker, queue, { wait_secs: LONG_SECS }))).toEqual([id]);
  });

  it('finds by itself, within five seconds, a job that nobody announces while it waits', async () => {
    expect(SAFETY_MS).toBeLessThan(5_000);
    const looking = await startTestServer({ database, config: { mode: 'api' }, intervals: { safetyPollMs: 300 } });
    await inTime(LONG_SECS, async (time) => {
      const queue = newQueue();
      const polling = lease(looking.worker, queue, { wait_secs: LONG_SECS });
      await until(async () => time.isUp || (await waiting(looking)) === 1);
      const id = await createSilently(database, queue);
      expect(idsOf(await polling)).toEqual([id]);
    });
    await looking.stop();
  });

  it('answers when a job that was scheduled before falls due', async () => {
    await inTime(LONG_SECS, async () => {
      const queue = newQueue();
      const id = await createJob(a, queue, { run_at: inSeconds(2) });
      // Where a second takes that long, it falls due during the first call.
      const early = await lease(worker, queue, { wait_secs: 1 });
      const [leased] = early.length > 0 ? early : await lease(worker, queue, { wait_secs: LONG_SECS });
      expect(leased?.job.id).toBe(id);
      expect(comparable(leased!.job.started_at) >= comparable(leased!.job.scheduled_at)).toBe(true);
    });
  });
});

/** One after the other, because they count who waits at the server. */
describe('a call that waits at an empty queue', () => {
  it('answers as soon as a job is put on the queue', async () => {
    await inTime(LONG_SECS, async (time) => {
      const queue = newQueue();
      const polling = lease(worker, queue, { wait_secs: LONG_SECS });
      await until(async () => time.isUp || (await waiting()) === 1);
      const id = await createJob(a, queue);
      expect(idsOf(await polling)).toEqual([id]);
    });
  });

  it('a nearer job that comes later moves the alarm', async () => {
    await inTime(LONG_SECS, async (time) => {
      const queue = newQueue();
      await createJob(a, queue, { run_at: inSeconds(600) });
      const polling = lease(worker, queue, { wait_secs: LONG_SECS });
      await until(async () => time.isUp || (await waiting()) === 1);
      const id = await createJob(a, queue, { run_at: inSeconds(0.8), config: { priority: -1 } });
      expect(idsOf(await polling)).toEqual([id]);
    });
  });

  it('whose client hung up claims nothing', async () => {
    const queue = newQueue();
    await inTime(LONG_SECS, async (time) => {
      const hangUp = new AbortController();
      const polling = worker.send('POST', `/api/v1/queues/${queue}/lease`, {
        body: { wait_secs: LONG_SECS, max_jobs: 100 },
        signal: hangUp.signal,
      });
      await until(async () => time.isUp || (await waiting()) === 1);
      hangUp.abort();
      await expect(polling).rejects.toThrow();
    });
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
    const body = `{"wait_secs":${LONG_SECS}}`;
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
    const next = leaseNext(worker, queue);
    await release();
    const leased = await next;
    expect(leased.job).toMatchObject({ id, delivery_count: 1, retry_count: 0, scheduled_at: before.scheduled_at });
  });

  it('leaves the job as it was even if it cannot be put back at once', async () => {
    const queue = newQueue();
    const id = await createJob(a, queue);
    // It is refused twice; a sequence also counts what is rolled back.
    await database.query(`
      CREATE SEQUENCE public.tries;
      CREATE FUNCTION public.refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        IF NEW.queue = '${queue}' AND nextval('public.tries') <= 2 THEN RAISE 'refused'; END IF;
        RETURN NEW;
      END $$;
      CREATE TRIGGER refuse BEFORE INSERT ON millrace.ready FOR EACH ROW EXECUTE FUNCTION public.refuse()`);
    const release = await claimForNobody(queue, id);
    await release();
    const tries = async (): Promise<number> =>
      Number((await database.homeOf(id).query('SELECT last_value FROM public.tries'))[0]!.last_value);
    await until(async () => (await tries()) === 3, { what: 'the third try' });
    const job = await until(async () => {
      const now = await getJob(a, id);
      return now.status === 'pending' && now;
    });
    await database.query('DROP TRIGGER refuse ON millrace.ready');
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
