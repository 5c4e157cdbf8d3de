import { createHook } from 'node:async_hooks';
import pg from 'pg';
import { afterAll, describe, expect, it } from 'vitest';
import { OF_ONE } from '../../src/pool/sizing.js';
import type { Handlers } from '../../src/index.js';
import { cloneDatabase } from '../support/database.js';
import { lockWaits } from '../support/lock-waits.js';
import { startTestServer, TENANT_A } from '../support/server.js';
import { until } from '../support/until.js';
import { createJob, waitFor } from '../engine/kit.js';
import { count, createMany } from './kit.js';

/** Jobs that wake a pool, one by one. */
const MORE = 10;
const runs = new Map<string, number>();
/** The turn of the event loop in which each of these started. */
const turns: number[] = [];
let turn = 0;
let holding = 0;
let release: () => void;
const released = new Promise<void>((resolve) => (release = resolve));
const handlers: Handlers = {
  // It waits for nothing, so it ends in the turn in which it starts.
  long_start: async () => {
    turns.push(turn);
    for (const until = performance.now() + 15; performance.now() < until;);
    return {};
  },
  count_runs: (_payload, { job }) => {
    runs.set(job.id, (runs.get(job.id) ?? 0) + 1);
    return {};
  },
  hold: async () => {
    holding++;
    await released;
    return {};
  },
  bulky: ({ length, letter }) => ({ text: (letter as string).repeat(length as number) }),
};

const database = await cloneDatabase();
const server = await startTestServer({
  database,
  handlers,
  config: { defaultQueue: 'bounded', maxPayloadBytes: 1_000 },
});
afterAll(async () => {
  await server.stop();
  await database.drop();
});

describe('a pool whose outcomes cannot be stored', () => {
  it('claims no more than it may have in hand, and stores everything once it can', async () => {
    const jobs = 3 * OF_ONE.inHand;
    // Created before, since outcomes are given up once their leases are over: half a minute is soon gone.
    const act = async (what: 'pause' | 'resume'): Promise<void> => {
      expect((await server.admin.post(`/api/v1/admin/queues/bounded/${what}`)).status).toBe(204);
    };
    await act('pause');
    await createMany(server.a, jobs, 'bounded', 'count_runs');
    const locker = new pg.Client({ connectionString: database.homeOf(TENANT_A).url, application_name: 'test kit' });
    await locker.connect();
    await locker.query('BEGIN');
    await locker.query('LOCK TABLE millrace.done IN EXCLUSIVE MODE');
    await act('resume');
    const waiting = (): Promise<number> => count(database, 'millrace.ready', `queue = 'bounded'`);
    await lockWaits(database);
    // Each of these wakes the pool, which claims at once if it has room.
    for (let n = 0; n < MORE; n++) await createJob(server.a, 'bounded', { task_name: 'count_runs' });
    expect(await waiting()).toBeGreaterThanOrEqual(jobs + MORE - OF_ONE.inHand);
    expect(runs.size).toBeLessThanOrEqual(OF_ONE.inHand);
    await locker.query('ROLLBACK');
    await locker.end();
    await until(async () => (await count(database, 'millrace.done', `status = 'completed'`)) === jobs + MORE, {
      what: 'all jobs to be completed',
    });
    expect(runs.size).toBe(jobs + MORE);
    expect([...runs.values()].every((times) => times === 1)).toBe(true);
  });
});

describe('jobs that take long to start', () => {
  it('let others have a turn after each, although their handlers end at once', async () => {
    let ticking = true;
    const tick = (): void => {
      turn++;
      if (ticking) setImmediate(tick);
    };
    tick();
    await createMany(server.a, 20, 'bounded', 'long_start');
    await until(() => turns.length === 20, { what: 'all of them to run' });
    ticking = false;
    expect(new Set(turns).size).toBe(20);
  });
});

describe('a pool whose workers are all busy', () => {
  it('does nothing for the jobs that it has claimed ahead', async () => {
    // At once, and the quick ones first: the pool claims ahead as long as they are fresh in its memory.
    const of = (task_name: string, priority: number) => ({ task_name, config: { queue: 'bounded', priority } });
    const jobs = Array.from({ length: 1000 }, (_, n) => (n < 800 ? of('count_runs', 5) : of('hold', 0)));
    expect((await server.a.post('/api/v1/jobs/batch', { jobs })).status).toBe(201);
    const waiting = (): Promise<number> => count(database, 'millrace.ready', `queue = 'bounded'`);
    await until(async () => holding > 0 && holding + (await waiting()) < 200, { what: 'jobs claimed ahead' });
    let deferred = 0;
    const hook = createHook({ init: (_id, type) => void (deferred += Number(type === 'Immediate')) });
    hook.enable();
    for (let n = 0; n < 200; n++) await new Promise((resolve) => setImmediate(resolve));
    hook.disable();
    release();
    await until(() => holding === 200, { what: 'all of them to run' });
    expect(deferred - 200).toBeLessThan(100);
  });
});

describe('the result of a handler', () => {
  const run = (length: number, letter: string): Promise<string> =>
    createJob(server.a, 'bounded', { task_name: 'bulky', payload: { length, letter } });
  /** Of {"text":""}. */
  const FRAME = 11;

  it('may be as large as a payload', async () => {
    await waitFor(server.a, await run(1_000 - FRAME, 'x'), 'completed');
    await waitFor(server.a, await run(400, 'é'), 'completed');
  });

  it.each([
    [1_000 - FRAME + 1, 'x'],
    [600, 'é'],
  ])('fails its attempt for good when it is larger: %i of %s', async (length, letter) => {
    const job = await waitFor(server.a, await run(length, letter), 'failed');
    expect(job).toMatchObject({ delivery_count: 1, retry_count: 0, result: null });
    expect(job.error_message).toContain('the result is larger than 1000 bytes');
  });
});
