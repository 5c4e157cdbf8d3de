import { afterAll, describe, expect, it } from 'vitest';
import { controlClock } from '../../support/clock.js';
import { cloneDatabase } from '../../support/database.js';
import { createClient, type Client, type Reply } from '../../support/client.js';
import { KEY_A, startTestServer } from '../../support/server.js';
import { until } from '../../support/until.js';
import { violationsIn } from '../../support/violations.js';
import { startAnotherServer } from '../another-server.js';
import { blockClaimOf } from '../blocking.js';
import * as kit from '../kit.js';
import { complete, createJob, fail, idsOf, lease, leaseOne, newQueue, SWEEP_OFTEN } from '../kit.js';
import { leaseNext } from '../waiting.js';

describe('unique jobs', async () => {
  const database = await cloneDatabase();
  const clock = await controlClock(database);
  const server = await startTestServer({ database, config: { workers: 1 }, intervals: SWEEP_OFTEN });
  const other = await startAnotherServer(database, { workers: 1 });
  const { a, b, worker } = server;
  const a2 = createClient(other.apiUrl!, KEY_A);
  afterAll(async () => {
    await other.stop();
    await server.stop();
    await database.drop();
  });

  const body = (queue: string, unique: object, more: object = {}, config: object = {}): object => ({
    task_name: 'task',
    config: { queue, unique: { key: 'k', while: 'waiting', ...unique }, ...config },
    ...more,
  });
  const post = (client: Client, queue: string, unique: object = {}, more: object = {}, config: object = {}) =>
    client.post('/api/v1/jobs', body(queue, unique, more, config));
  const made = async (reply: Promise<Reply>): Promise<string> => {
    const { status, text, body, headers } = await reply;
    expect(status, text).toBe(201);
    expect(headers.get('millrace-existing')).toBeNull();
    return body.job_id;
  };
  const found = async (reply: Promise<Reply>): Promise<string> => {
    const { status, text, body, headers } = await reply;
    expect(status, text).toBe(200);
    expect(headers.get('millrace-existing')).toBe('true');
    expect(headers.get('location')).toBe(`/api/v1/jobs/${body.job_id}`);
    return body.job_id;
  };

  it('while one waits, a second create makes none; once it was delivered, it does', async () => {
    const queue = newQueue();
    const first = await made(post(a, queue, {}, { payload: { n: 1 } }));
    expect(await found(post(a2, queue, {}, { payload: { n: 2 } }))).toBe(first);
    const leased = await leaseOne(worker, queue);
    expect(leased.job).toMatchObject({ id: first, payload: { n: 1 } });
    const second = await made(post(a, queue));
    expect(second).not.toBe(first);
    // The first one's retry does not count as waiting.
    await fail(worker, leased, { retry_after_secs: 0 });
    expect(await found(post(a, queue))).toBe(second);
  });

  it('while one is unfinished: running and retrying ones are in the way, ended ones are not', async () => {
    const queue = newQueue();
    const unique = { while: 'unfinished' };
    const first = await made(post(a, queue, unique));
    expect(await found(post(a, queue, unique))).toBe(first);
    const leased = await leaseOne(worker, queue);
    expect(await found(post(a2, queue, unique))).toBe(first);
    await fail(worker, leased, { retry_after_secs: 0 });
    expect(await found(post(a, queue, unique))).toBe(first);
    await complete(worker, await leaseOne(worker, queue));
    const second = await made(post(a, queue, unique));
    expect((await kit.cancel(a, second)).status).toBe(204);
    expect(await made(post(a, queue, unique))).not.toBe(second);
  });

  it('belong to a tenant, a queue and a key', async () => {
    const queue = newQueue();
    const ids = [
      await made(post(a, queue)),
      await made(post(b, queue)),
      await made(post(a, newQueue())),
      await made(post(a, queue, { key: 'l' })),
      await createJob(a, queue),
    ];
    expect(new Set(ids).size).toBe(5);
  });

  it('of fifty creates at once, through two processes, one makes a job', async () => {
    const queue = newQueue();
    for (const unique of [{ key: 'x' }, { key: 'y', while: 'unfinished' }, { key: 'z', on_conflict: 'replace' }]) {
      const replies = await Promise.all(
        Array.from({ length: 50 }, (_, n) => post(n % 2 === 0 ? a : a2, queue, unique, { payload: { n } })),
      );
      expect(replies.filter(({ status }) => status === 201)).toHaveLength(1);
      expect(replies.filter(({ status }) => status === 200)).toHaveLength(49);
      expect(new Set(replies.map((reply) => reply.body.job_id)).size).toBe(1);
    }
    expect(await lease(worker, queue, { max_jobs: 100 })).toHaveLength(3);
  });

  it('are never delivered twice, nor lost, while they are replaced and claimed at once', async () => {
    const queue = newQueue();
    const limits = [{ key: 'two', running: 2 }];
    const delivered: number[] = [];
    const ids = new Set<string>();
    let over = false;
    const drain = async (): Promise<void> => {
      while (!over) {
        for (const leased of await lease(worker, queue, { max_jobs: 5 })) {
          delivered.push(Number(leased.job.payload.n));
          await complete(worker, leased);
        }
      }
    };
    const drains = [drain(), drain()];
    for (let n = 0; n < 60; n += 2) {
      const replies = await Promise.all(
        [a, a2].map((client, k) =>
          post(client, queue, { on_conflict: 'replace' }, { payload: { n: n + k } }, k === 0 ? { limits } : {}),
        ),
      );
      for (const reply of replies) ids.add(reply.body.job_id);
    }
    await until(async () => (await kit.listAll(a, `queue=${queue}`)).every(({ status }) => status === 'completed'));
    over = true;
    await Promise.all(drains);
    expect(delivered).toHaveLength(ids.size);
    expect(new Set(delivered).size).toBe(delivered.length);
    expect(Math.max(...delivered)).toBeGreaterThanOrEqual(58);
  });

  it('replace gives the one that waits everything new but its id', async () => {
    const queue = newQueue();
    const replace = { on_conflict: 'replace' };
    const id = await made(post(a, queue, replace, { payload: { n: 1 }, metadata: { m: 1 } }, { priority: 1 }));
    const events = await a.open('GET', `/api/v1/jobs/${id}/events`);
    const more = { payload: { n: 2 }, metadata: { m: 2 }, task_name: 'other', delay_secs: 3_600 };
    expect(await found(post(a2, queue, replace, more, { priority: 9, max_retries: 0 }))).toBe(id);
    expect(await lease(worker, queue)).toEqual([]);
    expect(await kit.getJob(a, id)).toMatchObject({
      ...{ task_name: 'other', payload: { n: 2 }, metadata: { m: 2 }, status: 'pending', delivery_count: 0 },
      config: { priority: 9, max_retries: 0, unique: { key: 'k', while: 'waiting', on_conflict: 'replace' } },
    });
    expect(await found(post(a, queue, replace, { payload: { n: 3 } }))).toBe(id);
    const leased = await leaseOne(worker, queue);
    expect(leased.job).toMatchObject({
      id,
      task_name: 'task',
      payload: { n: 3 },
      metadata: {},
      config: { priority: 0 },
    });
    await complete(worker, leased);
    expect(await events.text()).toContain('"status":"completed"');
  });

  it('is too late for one that a claim which began before has taken: that is delivered as it was', async () => {
    const queue = newQueue();
    const replace = { on_conflict: 'replace' };
    const id = await made(post(a, queue, replace, { payload: { n: 1 } }));
    const block = await blockClaimOf(database, id);
    const leased = lease(worker, queue);
    await block.held();
    const second = post(a2, queue, replace, { payload: { n: 2 } });
    await block.held(2);
    await block.release();
    expect((await leased).map(({ job }) => [job.id, job.payload])).toEqual([[id, { n: 1 }]]);
    expect((await leaseNext(worker, queue)).job).toMatchObject({
      id: await made(second),
      payload: { n: 2 },
    });
    expect((await kit.getJob(a, id)).payload).toEqual({ n: 1 });
  });

  it('a debounce is put off by each create, and by max_wait_secs at most', async () => {
    const queue = newQueue();
    const debounce = { on_conflict: 'replace', max_wait_secs: 10_000 };
    const id = await made(post(a, queue, debounce, { delay_secs: 6_000 }));
    const createdAt = Date.parse((await kit.getJob(a, id)).created_at);
    const dueIn = async (): Promise<number> =>
      Math.round((Date.parse((await kit.getJob(a, id)).scheduled_at) - createdAt) / 1000);
    expect(await dueIn()).toBe(6_000);
    await clock.advance(3_000);
    await found(post(a2, queue, debounce, { delay_secs: 6_000 }));
    expect(await dueIn()).toBeGreaterThanOrEqual(9_000);
    expect(await dueIn()).toBeLessThan(10_000);
    await clock.advance(3_000);
    await found(post(a, queue, debounce, { delay_secs: 6_000, payload: { last: true } }));
    expect(await dueIn()).toBe(10_000);
    expect(await lease(worker, queue)).toEqual([]);
    await clock.advance(4_001);
    const leased = await leaseNext(worker, queue);
    expect(leased.job).toMatchObject({ id, payload: { last: true } });
  });

  it('replacing one that waits for room, or holds some, leaves no room behind', async () => {
    const queue = newQueue();
    const replace = { on_conflict: 'replace' };
    const limits = (key: string): object => ({ limits: [{ key, running: 1 }] });
    const admitted = await made(post(a, queue, replace, {}, limits('x')));
    const waiting = await createJob(a, queue, { config: limits('x') });
    // It leaves its room to the next one, and needs another.
    expect(await found(post(a, queue, replace, {}, limits('y')))).toBe(admitted);
    await until(async () => {
      const [one, other] = await Promise.all([admitted, waiting].map((id) => a.get(`/api/v1/jobs/${id}/why`)));
      return (one!.body.reason !== 'limited' && other!.body.reason !== 'limited') || 'one of them waits for room';
    });
    const leased = await lease(worker, queue, { max_jobs: 9 });
    expect(idsOf(leased).sort()).toEqual([admitted, waiting].sort());
    const parked = await made(post(a, queue, replace, {}, limits('x')));
    expect((await a.get(`/api/v1/jobs/${parked}/why`)).body.reason).toBe('limited');
    expect(await found(post(a, queue, replace))).toBe(parked);
    const last = await leaseOne(worker, queue);
    expect(last.job.id).toBe(parked);
    for (const each of [...leased, last]) await complete(worker, each);
    expect(await violationsIn(database)).toEqual([]);
  });

  it('replacing one names its limits anew: their numbers are those of the last create, whenever the first was', async () => {
    const queue = newQueue();
    const replace = { on_conflict: 'replace' };
    const delay = { delay_secs: 3_600 };
    const shown = async (): Promise<any> =>
      Object.fromEntries(
        (await a.get(`/api/v1/limits?queue=${queue}`)).body.limits.map((limit: any) => [limit.key, limit]),
      );
    const limits = (running: number, count: number): object => ({
      limits: [
        { key: 'k', running },
        { key: 'r', rate: { count, per_secs: 60 } },
      ],
    });
    const id = await made(post(a, queue, replace, delay, limits(11, 11)));
    // Limits that nobody uses are forgotten.
    await createJob(a, queue, { config: limits(12, 12) });
    const holder = await leaseNext(worker, queue);
    const sleeper = await createJob(a, queue, { config: limits(13, 13), delay_secs: 1_800 });
    await until(async () => (await shown()).r.rate.count === 13, { what: 'the rate to be that of the newest job' });
    expect(await found(post(a2, queue, replace, delay, limits(14, 14)))).toBe(id);
    await until(async () => (await shown()).r.rate.count === 14, { what: 'the rate to be that of the replacement' });
    expect((await shown()).k.limit).toBe(14);
    const last = { limits: [{ key: 'k', running: 15 }] };
    expect(await found(post(a, queue, replace, {}, last))).toBe(id);
    const replaced = await leaseNext(worker, queue);
    // What was created between the two falls due, and is looked at.
    await clock.advance(1_801);
    const woken = await leaseNext(worker, queue);
    expect(woken.job.id).toBe(sleeper);
    expect(await shown()).toMatchObject({ k: { limit: 15 }, r: { rate: { count: 14 } } });
    for (const each of [holder, replaced, woken]) await complete(worker, each);
  });

  it('in a batch: says which created nothing, among themselves too', async () => {
    const queue = newQueue();
    const first = await made(post(a, queue));
    const jobs = [
      body(queue, {}),
      { task_name: 'plain', config: { queue } },
      body(queue, { key: 'l', on_conflict: 'replace' }, { payload: { n: 1 } }),
      body(queue, { key: 'l', on_conflict: 'replace' }, { payload: { n: 2 } }),
    ];
    const { status, body: answer } = await a.post('/api/v1/jobs/batch', { jobs });
    expect(status).toBe(201);
    const [one, two, three, four] = answer.job_ids as string[];
    expect(answer).toMatchObject({ count: 4, existing: [0, 3] });
    expect([one, four]).toEqual([first, three]);
    expect(two).not.toBe(one);
    expect((await kit.getJob(a, three!)).payload).toEqual({ n: 2 });
    const keyed = await a.post('/api/v1/jobs/batch', {
      jobs: jobs.map((job, n) => ({ ...job, idempotency_key: `${queue}-${n}` })),
    });
    expect(keyed.body).toMatchObject({ existing: [0, 2, 3], replayed: [] });
    expect((keyed.body.job_ids as string[])[0]).toBe(first);
    expect((await a.post('/api/v1/jobs/batch', { jobs: [jobs[1]] })).body).not.toHaveProperty('existing');
  });

  it('an idempotency key decides first, and remembers what was found', async () => {
    const queue = newQueue();
    const first = await made(post(a, queue));
    const key = { idempotency_key: `${queue}-a` };
    expect(await found(post(a, queue, {}, key))).toBe(first);
    await complete(worker, await leaseOne(worker, queue));
    const again = await post(a2, queue, {}, key);
    expect(again.body.job_id).toBe(first);
    expect(again.headers.get('idempotency-replayed')).toBe('true');
    const batch = { jobs: [{ ...body(queue, {}), idempotency_key: `${queue}-a` }] };
    expect((await a.post('/api/v1/jobs/batch', batch)).body).toMatchObject({ job_ids: [first], replayed: [0] });
    expect(await made(post(a, queue, {}, { idempotency_key: `${queue}-b` }))).not.toBe(first);
  });

  it('copies drop it, and steps and schedules refuse it', async () => {
    const queue = newQueue();
    const id = await made(post(a, queue));
    const copy = (await a.post(`/api/v1/jobs/${id}/rerun`)).body.job_id as string;
    expect(copy).not.toBe(id);
    await fail(worker, await leaseOne(worker, queue), { retryable: false });
    const [letter] = await kit.deadLettersOf(a, id);
    const replay = (await a.post(`/api/v1/dlq/${letter!.id}/replay`)).body.job_id as string;
    for (const each of [copy, replay]) expect((await kit.getJob(a, each)).config).not.toHaveProperty('unique');
    const config = { unique: { key: 'k', while: 'waiting' } };
    const workflow = await a.post('/api/v1/workflows', { name: 'w', steps: [{ name: 's', task_name: 't', config }] });
    const cron = await a.post('/api/v1/cron', { name: 'n', cron_expr: '* * * * *', task_name: 't', config });
    expect([workflow.status, cron.status]).toEqual([400, 400]);
    expect(workflow.text).toContain('steps[0].config.unique');
    expect(cron.text).toContain('config.unique');
  });

  it.each<[object, string]>([
    [{ key: '' }, 'config.unique.key'],
    [{ key: 'x'.repeat(201) }, 'config.unique.key'],
    [{ while: 'always' }, 'config.unique.while'],
    [{ while: 'unfinished', on_conflict: 'replace' }, 'config.unique.on_conflict'],
    [{ max_wait_secs: 5 }, 'config.unique.max_wait_secs'],
    [{ on_conflict: 'replace', max_wait_secs: 0 }, 'config.unique.max_wait_secs'],
  ])('refuses %j', async (unique, path) => {
    const reply = await post(a, newQueue(), unique);
    expect(reply.status).toBe(400);
    expect(reply.body.details[0].path).toBe(path);
  });

  it('leaves no keys of jobs that have ended behind', async () => {
    const queue = newQueue();
    await made(post(a, queue));
    await complete(worker, await leaseOne(worker, queue));
    const live = await made(post(a, newQueue()));
    await until(
      async () => {
        const rows = await database.query<{ job_id: string; over: boolean }>(
          `SELECT u.job_id, EXISTS (SELECT FROM millrace.done d WHERE d.id = u.job_id) AS over FROM millrace.unique_keys u`,
        );
        return rows.some(({ job_id: id }) => id === live) && !rows.some(({ over }) => over);
      },
      { what: 'the keys of ended jobs to go' },
    );
  });
});
