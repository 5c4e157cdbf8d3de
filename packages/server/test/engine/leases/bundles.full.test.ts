import { afterAll, describe, expect, it } from 'vitest';
import { PermanentError, type Handlers } from '../../../src/index.js';
import { cloneDatabase } from '../../support/database.js';
import { startTestServer } from '../../support/server.js';
import { until } from '../../support/until.js';
import { blockBundleOf } from '../blocking.js';
import { startAnotherServer } from '../another-server.js';
import { cancel, comparable, deadLettersOf, getJob, listAll, waitFor } from '../kit.js';
import { openEvents, statusesOf } from '../jobs/sse.js';
import { inTime } from '../waiting.js';

/** What a pool claims at once it holds together, and yet each of these jobs is a job like any other. */
const ends = new Map<string, (end: 'complete' | 'fail' | 'give up') => void>();
const aborted = new Set<string>();

const handlers: Handlers = {
  hold: (_payload, { job, signal }) =>
    new Promise((resolve, reject) => {
      signal.addEventListener('abort', () => aborted.add(job.id));
      ends.set(job.id, (end) => {
        if (end === 'complete') resolve({ done: job.id });
        else reject(end === 'fail' ? new Error('broken') : new PermanentError('no use'));
      });
    }),
};

const TOGETHER = 6;

describe('jobs that a pool claimed together', async () => {
  const database = await cloneDatabase();
  const api = await startTestServer({ database, config: { mode: 'api' } });
  const { a } = api;
  const pools: { stop(): Promise<void> }[] = [];
  let queues = 0;
  afterAll(async () => {
    for (const end of ends.values()) end('complete');
    await Promise.all(pools.map((pool) => pool.stop()));
    await api.stop();
    await database.drop();
  });

  /** Jobs that a pool of their own runs, all of them claimed by one statement. */
  async function holdTogether(config: object = {}, shutdownSecs = 120) {
    const queue = `together-${++queues}`;
    const jobs = Array.from({ length: TOGETHER }, () => ({ task_name: 'hold', config: { queue, ...config } }));
    const { body } = await a.post('/api/v1/jobs/batch', { jobs });
    const ids = body.job_ids as string[];
    const pool = await startAnotherServer(
      database,
      { mode: 'worker', workers: TOGETHER, defaultQueue: queue, shutdownSecs },
      handlers,
    );
    pools.push(pool);
    await until(() => ids.every((id) => ends.has(id)), { what: 'all handlers to run' });
    expect(await open(queue)).toBe(TOGETHER);
    const [first = '', ...others] = ids;
    return { queue, pool, ids, first, others };
  }

  /** How many of the queue stand in bundles. */
  async function open(queue: string): Promise<number> {
    const [row] = await database.query<{ n: number }>(
      `SELECT coalesce(sum(length(replace(open::text, '0', ''))), 0)::int AS n FROM millrace.bundles WHERE queue = $1`,
      [queue],
    );
    return row!.n;
  }

  const allEnd = async (ids: readonly string[]): Promise<void> => {
    for (const id of ids) ends.get(id)!('complete');
    for (const id of ids)
      expect(await waitFor(a, id, 'completed')).toMatchObject({
        result: { done: id },
        delivery_count: 1,
        retry_count: 0,
      });
  };

  it('are seen running one by one: by id, in lists, in the depth of their queue', async () => {
    const { queue, ids } = await holdTogether();
    for (const id of ids) {
      const job = await getJob(a, id);
      expect(job).toMatchObject({ status: 'running', delivery_count: 1, retry_count: 0, error_message: null });
      expect(comparable(job.started_at) >= comparable(job.created_at)).toBe(true);
    }
    expect((await listAll(a, `status=running&queue=${queue}`)).map((job) => job.id).sort()).toEqual([...ids].sort());
    const { body } = await a.get('/api/v1/queues');
    expect(body.queues).toContainEqual(expect.objectContaining({ queue, running: TOGETHER, pending: 0 }));
    await allEnd(ids);
    expect(await open(queue)).toBe(0);
  });

  it('leave no row behind when the last of them has ended, in whatever order', async () => {
    const { queue, ids } = await holdTogether();
    for (const id of [...ids].reverse()) await allEnd([id]);
    // A pool that has not heard of the end before takes no end for the last; then the row goes with those of others.
    const rows = (): Promise<unknown[]> => database.query('SELECT FROM millrace.bundles WHERE queue = $1', [queue]);
    await until(async () => (await rows()).length === 0, { what: 'the row to go' });
  });

  it('are cancelled one by one, and the others go on', async () => {
    const { first, others } = await holdTogether();
    expect((await cancel(a, first)).status).toBe(204);
    await until(() => aborted.has(first), { what: 'the handler to be aborted' });
    ends.get(first)!('complete');
    await allEnd(others);
    expect(await getJob(a, first)).toMatchObject({ status: 'cancelled', result: null });
    expect((await cancel(a, first)).status).toBe(409);
  });

  it('fail one by one, with a retry or a dead letter each', async () => {
    const [again = '', never = '', ...others] = (await holdTogether({ retry_delay_secs: 600 })).ids;
    ends.get(again)!('fail');
    ends.get(never)!('give up');
    expect(await waitFor(a, again, 'retrying')).toMatchObject({ retry_count: 1, error_message: 'broken' });
    expect(await waitFor(a, never, 'failed')).toMatchObject({ retry_count: 0, error_message: 'no use' });
    expect(await deadLettersOf(a, never)).toHaveLength(1);
    expect(await deadLettersOf(a, again)).toEqual([]);
    await allEnd(others);
  });

  it('are reclaimed one by one when their server is lost, and its late reports change nothing', async () => {
    const { queue, first, others } = await holdTogether({ retry_delay_secs: 600, max_retries: 1 });
    await allEnd([first]);
    // Again and again: the pool of the test lives, and extends what it holds now and then.
    const past = `UPDATE millrace.bundles SET locked_until = now() - interval '1 second' WHERE queue = $1`;
    await until(async () => (await database.query(past, [queue]), (await open(queue)) === 0), { what: 'the sweep' });
    for (const id of others)
      expect(await waitFor(a, id, 'retrying')).toMatchObject({
        error_message: 'lease expired',
        retry_count: 1,
        delivery_count: 1,
      });
    for (const id of others) ends.get(id)!('complete');
    await pools.at(-1)!.stop();
    for (const id of others) expect(await getJob(a, id)).toMatchObject({ status: 'retrying', result: null });
  });

  it('are given back one by one when their server stops and they do not', async () => {
    // It gives them a fifth of a second, and itself another one to tell: a stop that takes longer may not tell of all.
    await inTime(1.2, async (time) => {
      const { pool, ids, first, others } = await holdTogether({}, 0.2);
      await allEnd([first]);
      time.restart();
      await pool.stop();
      time.stop();
      for (const id of others)
        expect(await getJob(a, id)).toMatchObject({ status: 'pending', retry_count: 0, error_message: null });
      expect(ids.every((id) => ends.has(id))).toBe(true);
    });
  });

  it.each(['cancel', 'complete'] as const)(
    'end once when they are cancelled as they complete: %s first',
    async (one) => {
      const { first, others } = await holdTogether();
      const block = await blockBundleOf(database, first);
      let reply: Promise<{ readonly status: number }> | null = null;
      const act = {
        cancel: () => void (reply = cancel(a, first)),
        complete: () => ends.get(first)!('complete'),
      };
      act[one]();
      await block.held(1);
      act[one === 'cancel' ? 'complete' : 'cancel']();
      await block.held(2);
      await block.release();
      const cancelled = (await reply!).status === 204;
      const job = await waitFor(a, first, cancelled ? 'cancelled' : 'completed');
      expect(job.result).toEqual(cancelled ? null : { done: first });
      await allEnd(others);
      expect(await getJob(a, first)).toEqual(job);
    },
  );

  it('tell each its own events', async () => {
    const { first, others } = await holdTogether();
    const events = await openEvents(a, first);
    expect((await events.next())?.status).toBe('running');
    await allEnd(others);
    ends.get(first)!('complete');
    expect(statusesOf(await events.rest())).toEqual(['completed']);
  });

  it('are kept alive by the heartbeats of their server', async () => {
    const { queue, ids } = await holdTogether();
    // So far ahead that it does not run out while this machine is held up. A heartbeat sets it anew, from its own now.
    const ahead = `UPDATE millrace.bundles SET locked_until = now() + interval '1 hour' WHERE queue = $1`;
    await database.query(ahead, [queue]);
    const anew = `SELECT FROM millrace.bundles WHERE queue = $1 AND locked_until < now() + interval '1 minute'`;
    await until(async () => (await database.query(anew, [queue])).length === 1, { what: 'the bundle to be extended' });
    await allEnd(ids);
  });
});
