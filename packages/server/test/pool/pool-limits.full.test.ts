import { afterAll, describe, expect, it } from 'vitest';
import { PermanentError, type Handlers } from '../../src/index.js';
import { inspect } from '../../src/store/migrations/inspect.js';
import { startAnotherServer } from '../engine/another-server.js';
import { cancel, createJob, getJob, listAll, SWEEP_OFTEN, waitFor } from '../engine/kit.js';
import { cloneDatabase } from '../support/database.js';
import { startTestServer } from '../support/server.js';
import { until } from '../support/until.js';

/** Limits and expiry in the pool, which holds what it claims at once together. */
type End = 'complete' | 'fail' | 'give up';
const ends = new Map<string, (end: End) => void>();
const started = new Map<string, number>();

const handlers: Handlers = {
  hold: (_payload, { job, signal }) =>
    new Promise((resolve, reject) => {
      started.set(job.id, (started.get(job.id) ?? 0) + 1);
      signal.addEventListener('abort', () => reject(signal.reason as Error));
      ends.set(job.id, (end) => {
        if (end === 'complete') resolve({});
        else reject(end === 'fail' ? new Error('broken') : new PermanentError('no use'));
      });
    }),
};

const TOGETHER = 6;
const database = await cloneDatabase();
const api = await startTestServer({ database, config: { mode: 'api' }, intervals: SWEEP_OFTEN });
const { a, admin } = api;
// Nobody counts anew meanwhile who runs: that would hide room that was not given back.
await database.query(`INSERT INTO millrace.loops (name, last_run_at) VALUES ('limits', now() + interval '9 minutes')
                      ON CONFLICT (name) DO UPDATE SET last_run_at = excluded.last_run_at`);
const pools: { stop(): Promise<void> }[] = [];
let queues = 0;
afterAll(async () => {
  for (const end of ends.values()) end('complete');
  await Promise.all(pools.map((pool) => pool.stop()));
  await api.stop();
  await database.drop();
});

const startPool = async (queue: string, config: object = {}) => {
  const pool = await startAnotherServer(
    database,
    { mode: 'worker', workers: 2 * TOGETHER, defaultQueue: queue, shutdownSecs: 120, ...config },
    handlers,
  );
  pools.push(pool);
  return pool;
};
const holds = async (queue: string, configs: readonly object[]): Promise<string[]> => {
  const jobs = configs.map((config) => ({ task_name: 'hold', config: { queue, retry_delay_secs: 3_600, ...config } }));
  const { status, text, body } = await a.post('/api/v1/jobs/batch', { jobs });
  expect(status, text).toBe(201);
  return body.job_ids as string[];
};
const bundled = async (queue: string): Promise<number> => {
  const [row] = await database.query<{ n: number }>(
    `SELECT coalesce(sum(length(replace(open::text, '0', ''))), 0)::int AS n FROM millrace.bundles WHERE queue = $1`,
    [queue],
  );
  return row!.n;
};
const startsOf = (ids: readonly string[]): string[] => ids.filter((id) => started.has(id));
const limits = [{ key: 'k', running: TOGETHER }];

/** As many jobs as may run, which a pool claimed together, and as many that wait for room. */
async function holdTogether(configs: readonly object[] = Array.from({ length: TOGETHER }, () => ({}))) {
  const queue = `limited-${++queues}`;
  const first = await holds(
    queue,
    configs.map((config) => ({ limits, ...config })),
  );
  const pool = await startPool(queue);
  await until(() => startsOf(first).length === TOGETHER, { what: 'all handlers to run' });
  const waiting = await holds(
    queue,
    Array.from({ length: TOGETHER }, () => ({ limits })),
  );
  /** So many of those that waited run now, and the key is full again. */
  const letIn = async (count: number): Promise<void> => {
    await until(() => startsOf(waiting).length >= count, { what: `${count} to be let in` });
    const shown = (await a.get(`/api/v1/limits?queue=${queue}`)).body.limits[0];
    expect(shown).toMatchObject({ running: TOGETHER, waiting: TOGETHER - count });
    expect(startsOf(waiting)).toHaveLength(count);
    expect(await listAll(a, `status=running&queue=${queue}`)).toHaveLength(TOGETHER);
  };
  return { queue, pool, first, waiting, letIn };
}
const twenty = [{ key: 'k', running: 20 }];

/** Twenty jobs of a key, of which a pool of two workers holds more than it runs: fast jobs have taught it to. */
async function claimedAhead(queue: string): Promise<string[]> {
  const standing = `
    SELECT count(*) FILTER (WHERE j.task = 'hold' AND l.id IS NOT NULL)::int AS held,
           count(*) FILTER (WHERE j.task = 'echo')::int AS echoes
    FROM millrace.jobs j LEFT JOIN millrace.running l ON l.id = j.id
    WHERE j.queue = $1 AND NOT EXISTS (SELECT FROM millrace.done d WHERE d.tenant = j.tenant AND d.id = j.id)`;
  for (let round = 0; round < 30; round++) {
    const fast = { queue, priority: 1, limits: [{ key: 'fast', running: 10_000 }] };
    const jobs = [
      ...Array.from({ length: 400 }, () => ({ task_name: 'echo', config: fast })),
      ...Array.from({ length: 20 }, () => ({ task_name: 'hold', config: { queue, limits: twenty } })),
    ];
    const { body } = await a.post('/api/v1/jobs/batch', { jobs });
    const ids = (body.job_ids as string[]).slice(400);
    await until(() => startsOf(ids).length === 2);
    const [row] = await database.query<{ held: number; echoes: number }>(standing, [queue]);
    if (row!.held > 6 && row!.echoes === 0) return ids;
    await until(async () => {
      for (const id of ids) ends.get(id)?.('complete');
      return (await Promise.all(ids.map((id) => getJob(a, id)))).every(({ status }) => status === 'completed');
    });
  }
  throw new Error('the pool never claimed ahead');
}
const sound = async (): Promise<void> =>
  expect((await inspect(database.url)).checks.filter(({ violations }) => violations > 0)).toEqual([]);

describe('jobs with limits that a pool claimed together', () => {
  it('give back the room of one each, however they end', async () => {
    const timed = { timeout_secs: 1, max_retries: 0 };
    const { queue, first, letIn } = await holdTogether([timed, {}, {}, {}, {}, {}]);
    const [late, done, again, never, gone] = first as [string, string, string, string, string];
    expect(await waitFor(a, late, 'failed')).toMatchObject({ error_message: 'timed out after 1 s' });
    await letIn(1);
    expect(await bundled(queue)).toBe(TOGETHER - 1);
    ends.get(done)!('complete');
    await letIn(2);
    ends.get(again)!('fail');
    await waitFor(a, again, 'retrying');
    await letIn(3);
    ends.get(never)!('give up');
    await letIn(4);
    expect((await cancel(a, gone)).status).toBe(204);
    await letIn(5);
    await sound();
  });

  it('give it back once when their leases are over, though their handlers go on and report', async () => {
    const { queue, first, letIn } = await holdTogether();
    // Again and again: the pool lives, and extends what it holds now and then.
    const past = `UPDATE millrace.bundles SET locked_until = now() - interval '1 second' WHERE queue = $1`;
    await until(async () => (await database.query(past, [queue]), (await bundled(queue)) === 0), { what: 'the sweep' });
    for (const id of first) await waitFor(a, id, 'retrying');
    await letIn(TOGETHER);
    for (const id of first) ends.get(id)!('complete');
    await letIn(TOGETHER);
    for (const id of first) expect((await getJob(a, id)).status).toBe('retrying');
    await sound();
  });

  it('keep it where their server stops before it began them, and give it back where it did', async () => {
    const queue = `limited-${++queues}`;
    const pool = await startPool(queue, { workers: 2, shutdownSecs: 0.2 });
    const ids = await claimedAhead(queue);
    expect(await bundled(queue)).toBeGreaterThan(2);
    const behind = await holds(queue, [{ limits: twenty }]);
    await pool.stop();
    expect(startsOf(ids)).toHaveLength(2);
    for (const id of [...ids, ...behind]) expect((await getJob(a, id)).status).toBe('pending');
    // Those that had begun wait for room again, and have it.
    await until(async () => (await a.get(`/api/v1/limits?queue=${queue}`)).body.limits[0].running === 20, {
      what: 'all room to be taken',
    });
    await sound();
    await startPool(queue, { workers: 30 });
    const live = [...ids, ...behind];
    const running = async (): Promise<string[]> =>
      (await listAll(a, `status=running&queue=${queue}`)).map(({ id }) => id);
    await until(async () => (await running()).length === 20 && startsOf(live).length === 20, {
      what: 'as many as may',
    });
    for (const id of startsOf(live)) ends.get(id)!('complete');
    await until(() => startsOf(live).length === 21, { what: 'the last one' });
    for (const id of live) {
      ends.get(id)!('complete');
      await waitFor(a, id, 'completed');
    }
    await sound();
  });
});

describe('a limit of the queue of a pool', () => {
  const set = async (queue: string, body: object): Promise<void> => {
    const { status, text } = await admin.send('PUT', `/api/v1/admin/queues/${queue}`, { body });
    expect(status, text).toBe(200);
  };

  it('counts the jobs that it had claimed together before', async () => {
    const queue = `limited-${++queues}`;
    const ids = await holds(
      queue,
      Array.from({ length: TOGETHER }, () => ({})),
    );
    await startPool(queue);
    await until(() => startsOf(ids).length === TOGETHER);
    expect(await bundled(queue)).toBe(TOGETHER);
    await set(queue, { running: TOGETHER + 1 });
    const more = await holds(queue, [{}, {}, {}]);
    await until(() => startsOf(more).length === 1, { what: 'the one for whom there is room' });
    const waits = more.filter((id) => !started.has(id));
    for (const id of waits) expect((await getJob(a, id)).status).toBe('pending');
    for (const id of ids.slice(0, 2)) ends.get(id)!('complete');
    await until(() => startsOf(more).length === 3, { what: 'the others' });
  });

  it('lets so many start in a span', async () => {
    const queue = `limited-${++queues}`;
    await set(queue, { rate: { count: 2, per_secs: 3_600, burst: 2 } });
    await startPool(queue);
    const ids = await holds(
      queue,
      Array.from({ length: TOGETHER }, () => ({})),
    );
    await until(() => startsOf(ids).length === 2, { what: 'the burst' });
    for (const id of startsOf(ids)) {
      ends.get(id)!('complete');
      await waitFor(a, id, 'completed');
    }
    for (const id of ids.filter((id) => !started.has(id))) expect((await getJob(a, id)).status).toBe('pending');
    expect(startsOf(ids)).toHaveLength(2);
    await set(queue, { rate: null });
    await until(() => startsOf(ids).length === TOGETHER, { what: 'the others' });
  });
});

describe('a job that expires on the queue of a pool', () => {
  it('is not begun afterwards, though a worker is free then', async () => {
    const queue = `limited-${++queues}`;
    await startPool(queue, { workers: 1 });
    const busy = await createJob(a, queue, { task_name: 'hold' });
    await until(() => started.has(busy));
    const late = await createJob(a, queue, { task_name: 'hold', config: { expires_secs: 3_600 } });
    await database.query('UPDATE millrace.ready SET expires_at = now() WHERE id = $1', [late]);
    ends.get(busy)!('complete');
    expect(await waitFor(a, late, 'cancelled')).toMatchObject({ error_message: 'expired before it started' });
    expect(started.has(late)).toBe(false);
  });
});
