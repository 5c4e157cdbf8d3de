import { afterAll, describe, expect, it } from 'vitest';
import { controlClock } from '../../support/clock.js';
import { cloneDatabase } from '../../support/database.js';
import { spawnServer, type ServingProcess } from '../../support/processes.js';
import { until } from '../../support/until.js';
import type { Leased } from '../kit.js';
import { expectLegal } from './invariants.js';
import { completeJob, ok, workflowsOf, step } from './kit.js';

/**
 * One step with a long result and hundreds that receive it. The service runs as a process of its own, with a heap that
 * could not hold all the copies, and is killed in the middle.
 */
const MIB = 1024 * 1024;

describe.each([
  // Slow enough to be killed in the middle.
  { resultBytes: 960 * 1024, args: ['--workers=1'], dependents: 150, share: 1, napMs: 20 },
  // One claim per job: some of them, before and after each start, say as much as all.
  { resultBytes: 8 * MIB, args: [`--max-payload-bytes=${16 * MIB}`], dependents: 300, share: 0.05, napMs: 0 },
])('a step whose result has $resultBytes bytes', async ({ resultBytes, args, dependents, share, napMs }) => {
  const database = await cloneDatabase();
  const clock = await controlClock(database);
  const processes: ServingProcess[] = [];
  afterAll(async () => {
    for (const server of processes) server.signal('SIGKILL');
    await Promise.all(processes.map((server) => server.exited));
    await database.drop();
  });

  async function start(mode: 'api' | 'all'): Promise<ServingProcess> {
    const server = await spawnServer({
      args: ['--dev', `--mode=${mode}`, ...args],
      env: { DATABASE_URL: database.url, NODE_OPTIONS: '--max-old-space-size=256' },
    });
    processes.push(server);
    return server;
  }

  const names = Array.from({ length: dependents }, (_, n) => `n${n}`);
  const text = 'x'.repeat(resultBytes - 11);
  const result = `{"text":"${text}"}`;

  const leaseFrom = async (server: ServingProcess, max_jobs: number): Promise<Leased[]> => {
    const reply = await server.as('a worker').post('/api/v1/queues/default/lease', { max_jobs, lease_secs: 3_600 });
    return ok(reply).body.jobs as Leased[];
  };

  it('is delivered to remote workers and to the pool, before and after a kill', async () => {
    expect(Buffer.byteLength(result)).toBe(resultBytes);
    const first = await start('api');
    const workflows = workflowsOf(first.as('anybody'));
    const nap = {
      task_name: 'sleep',
      payload: { duration_ms: napMs },
      config: { max_retries: 50, retry_delay_secs: 0 },
    };
    const id = await workflows.create([step('root'), ...names.map((name) => step(name, ['root'], nap))]);
    const [root] = await leaseFrom(first, 1);
    ok(await completeJob(first.as('a worker'), root!.job.id, root!.lease_token, result));

    // However many jobs a worker asks for, an answer stays near 8 MiB; and it is never empty while one is due.
    const many = await leaseFrom(first, 100);
    expect(many.length).toBe(Math.max(1, Math.floor((8 * MIB) / (2 * resultBytes))));
    const few = await leaseFrom(first, 2);
    for (const { job, lease_token: token } of [...many, ...few]) {
      const { duration_ms, _context } = job.payload as any;
      expect(duration_ms).toBe(napMs);
      // Not toEqual: a difference in so long a text is nothing to print.
      expect(_context.text === text && _context.root.text === text).toBe(true);
      expect(Object.keys(_context)).toEqual(['text', 'root']);
      ok(await completeJob(first.as('a worker'), job.id, token, { by: 'hand' }));
    }
    // These two stay with a worker that is gone: however fast the pool is, it cannot come to the end before the kill.
    for (let n = 0; n < 2; n++) expect((await leaseFrom(first, 1)).length).toBe(1);

    const completed = async (): Promise<number> =>
      Number((await database.query('SELECT count(*)::int AS n FROM millrace.done'))[0]!.n);
    const untilCompleted = (count: number): Promise<unknown> =>
      until(async () => (await completed()) >= count, { everyMs: 50 });
    first.signal('SIGKILL');
    await first.exited;
    const before = await completed();
    const second = await start('all');
    await untilCompleted(before + (share * dependents) / 4);
    second.signal('SIGKILL');
    await second.exited;
    const then = await completed();
    expect(then).toBeLessThan(dependents);
    // What the dead processes held is held until its lease runs out.
    await clock.advance(3_700);
    const third = await start('all');
    const after = workflowsOf(third.as('anybody'));
    await untilCompleted(share === 1 ? dependents + 1 : then + (share * dependents) / 4);
    if (share < 1) await after.cancel(id);
    const { status, context } = await after.get(id);
    expect(status).toBe(share === 1 ? 'completed' : 'cancelled');
    expect(context.text === text && context.root.text === text).toBe(true);
    const found = names.filter((name) => context[name]?.slept_for === napMs / 1000 || context[name]?.by === 'hand');
    const steps = (await after.steps(id)).filter((shown) => shown.status === 'completed' && shown.name !== 'root');
    expect(found).toEqual(steps.map(({ name }) => name));
    if (share === 1) expect(found).toEqual(names);
    await expectLegal(database, { ended: true });
    third.signal('SIGTERM');
    expect((await third.exited).code).toBe(0);
  });
});
