import { afterAll, describe, expect, it } from 'vitest';
import type { Client, Reply } from '../../support/client.js';
import { controlClock } from '../../support/clock.js';
import { cloneDatabase } from '../../support/database.js';
import { startTestServer } from '../../support/server.js';
import { until } from '../../support/until.js';
import { complete, getJob, leaseOne, listAll, newQueue } from '../kit.js';

/** Keys of the items of a batch, in two processes on one database. */
const database = await cloneDatabase();
const clock = await controlClock(database);
const config = { mode: 'api' as const };
const one = await startTestServer({ database, config });
const two = await startTestServer({ database, config });
const { a, b, worker } = one;
afterAll(async () => {
  await Promise.all([one.stop(), two.stop()]);
  await database.drop();
});

let uses = 0;
/** A name that no other test uses as a key. */
const fresh = (): string => `key ${++uses}`;
const item = (queue: string, key: string | null, more: object = {}): object => ({
  task_name: 't',
  config: { queue },
  ...(key !== null && { idempotency_key: key }),
  ...more,
});
const batch = (client: Client, jobs: readonly object[], headers: Record<string, string> = {}): Promise<Reply> =>
  client.post('/api/v1/jobs/batch', { jobs }, { prefer: 'handling=strict', ...headers });

describe('a batch whose jobs have keys', () => {
  it('creates them, in order, each with its key', async () => {
    const [queue, key] = [newQueue(), fresh()];
    const { status, body } = await batch(a, [item(queue, `${key} 1`), item(queue, `${key} 2`, { metadata: { m: 1 } })]);
    expect([status, body.count, body.replayed]).toEqual([201, 2, []]);
    const listed = await listAll(a, `queue=${queue}&order_by=created_at ASC`);
    expect(listed.map(({ id }) => id)).toEqual(body.job_ids);
    expect(listed.map((job) => job.idempotency_key)).toEqual([`${key} 1`, `${key} 2`]);
  });

  it('returns the first ids in any other grouping, from any process, and creates what is new', async () => {
    const [queue, key] = [newQueue(), fresh()];
    const jobs = [1, 2, 3, 4, 5].map((n) => item(queue, `${key} ${n}`, { payload: { n } }));
    const first = (await batch(one.a, jobs.slice(0, 3))).body.job_ids as string[];
    const second = await batch(two.a, jobs.slice(2).reverse());
    const [five, four, three] = second.body.job_ids as [string, string, string];
    expect([second.status, second.body.replayed, three]).toEqual([201, [2], first[2]]);
    expect((await batch(one.a, jobs)).body).toEqual({
      job_ids: [...first, four, five],
      count: 5,
      replayed: [0, 1, 2, 3, 4],
    });
    expect(await listAll(a, `queue=${queue}`)).toHaveLength(5);
  });

  it('shares its keys with single jobs', async () => {
    const [queue, key] = [newQueue(), fresh()];
    const { job_id: single } = (await a.post('/api/v1/jobs', item(queue, key))).body;
    expect((await batch(a, [item(queue, key)])).body).toEqual({ job_ids: [single], count: 1, replayed: [0] });
    const ids = (await batch(a, [item(queue, `${key} other`)])).body.job_ids as string[];
    const again = await a.post('/api/v1/jobs', item(queue, `${key} other`));
    expect([again.body.job_id, again.headers.get('idempotency-replayed')]).toEqual([ids[0], 'true']);
  });

  it('makes one job of a key that it has twice, whose first item counts', async () => {
    const [queue, key] = [newQueue(), fresh()];
    const jobs = ['first', 'second', 'third'].map((task) =>
      item(queue, task === 'second' ? null : key, { task_name: task }),
    );
    const { body } = await batch(a, jobs);
    const [same, other, again] = body.job_ids as [string, string, string];
    expect([body.count, body.replayed, again]).toEqual([3, [2], same]);
    expect(await getJob(a, same)).toMatchObject({ task_name: 'first', idempotency_key: key });
    expect(await getJob(a, other)).toMatchObject({ task_name: 'second', idempotency_key: null });
    expect(await listAll(a, `queue=${queue}`)).toHaveLength(2);
  });

  it('takes effect once per key, however many batches overlap at the same time in two processes', async () => {
    const [queue, key] = [newQueue(), fresh()];
    const jobs = Array.from({ length: 60 }, (_, n) => item(queue, `${key} ${n}`, { task_name: `t${n % 3}` }));
    const windows = Array.from({ length: 20 }, (_, n) =>
      n % 2 ? jobs.slice(n, n + 40) : jobs.slice(n, n + 40).reverse(),
    );
    const replies = await Promise.all(windows.map((window, n) => batch(n % 2 ? one.a : two.a, window)));
    expect(replies.map(({ status }) => status)).toEqual(windows.map(() => 201));
    const created = replies.reduce((sum, { body }) => sum + body.count - body.replayed.length, 0);
    const listed = await listAll(a, `queue=${queue}&limit=100`);
    expect([created, listed.length]).toEqual([59, 59]);
    const idOf = new Map(listed.map((job) => [job.idempotency_key, job.id]));
    replies.forEach(({ body }, n) =>
      expect(body.job_ids).toEqual(
        windows[n]!.map((job) => idOf.get((job as { idempotency_key: string }).idempotency_key)),
      ),
    );
  });

  it('is refused as a whole, naming the job, if a key was used for another kind of request', async () => {
    const [queue, key] = [newQueue(), fresh()];
    await a.post('/api/v1/jobs/batch', { jobs: [item(queue, null)] }, { 'idempotency-key': key });
    const { status, body } = await batch(a, [item(queue, `${key} new`), item(queue, null), item(queue, key)]);
    expect([status, body.code, body.details[0].path]).toEqual([409, 'conflict', 'jobs[2].idempotency_key']);
    expect(await listAll(a, `queue=${queue}`)).toHaveLength(1);
    expect((await batch(a, [item(queue, `${key} new`)])).body.replayed).toEqual([]);
  });

  it('is refused with a key for all of it', async () => {
    const queue = newQueue();
    const reply = await batch(a, [item(queue, null), item(queue, fresh())], { 'idempotency-key': fresh() });
    expect([reply.status, reply.body.details[0].path]).toEqual([400, 'jobs[1].idempotency_key']);
    expect(await listAll(a, `queue=${queue}`)).toEqual([]);
    const blank = await batch(a, [item(queue, ' ')], { 'idempotency-key': fresh() });
    expect([blank.status, blank.body.replayed]).toEqual([201, undefined]);
  });

  it.each(['x'.repeat(256), 'millrace:cron:x', 'a\0b', '\ud800'])('is refused with the key %j', async (key) => {
    const reply = await batch(a, [item('q', null), item('q', key)]);
    expect([reply.status, reply.body.details[0].path]).toEqual([400, 'jobs[1].idempotency_key']);
  });

  it('belongs to its tenant', async () => {
    const [queue, key] = [newQueue(), fresh()];
    const [ours, theirs] = [await batch(a, [item(queue, key)]), await batch(b, [item(queue, key)])];
    expect([theirs.status, theirs.body.replayed]).toEqual([201, []]);
    expect(theirs.body.job_ids).not.toEqual(ours.body.job_ids);
  });

  it('is refused where some of it is wrong, and has not used its keys', async () => {
    const [queue, key] = [newQueue(), fresh()];
    expect((await batch(a, [item(queue, key), item(queue, `${key} 2`, { run_at: 'soon' })])).status).toBe(400);
    expect((await batch(a, [item(queue, key)])).body.replayed).toEqual([]);
  });
});

describe('with retention of one hour', () => {
  const swept = async (): Promise<void> => {
    const sweeper = await startTestServer({ database, config: { ...config, retentionHours: 1 } });
    const resting = `last_run_at > test_clock.clock_timestamp()`;
    const pass = `SELECT FROM millrace.loops WHERE name = 'retention' AND ${resting}`;
    await until(async () => (await database.query(pass)).length > 0, { what: 'the pass to end' });
    await sweeper.stop();
  };

  it('the key of an item lives seven days although its job is gone, and as long as its job if that lives longer', async () => {
    const [queue, later, key] = [newQueue(), newQueue(), fresh()];
    const jobs = [item(queue, `${key} ended`), item(later, `${key} waiting`, { run_at: '2999-01-01T00:00:00Z' })];
    const first = (await batch(a, jobs)).body.job_ids as string[];
    await complete(worker, await leaseOne(worker, queue));
    await clock.advance(2 * 3_600);
    await swept();
    expect((await a.get(`/api/v1/jobs/${first[0]!}`)).status).toBe(404);
    expect((await batch(a, jobs)).body).toMatchObject({ job_ids: first, replayed: [0, 1] });
    await clock.advance(7 * 86_400);
    await swept();
    const again = (await batch(a, jobs)).body;
    expect(again.replayed).toEqual([1]);
    expect(again.job_ids[1]).toBe(first[1]);
    expect(await listAll(a, `queue=${queue}`)).toHaveLength(1);
  });
});
