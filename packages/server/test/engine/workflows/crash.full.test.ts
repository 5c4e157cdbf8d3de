import { afterAll, describe, expect, it } from 'vitest';
import { controlClock } from '../../support/clock.js';
import { cloneDatabase } from '../../support/database.js';
import { spawnServer, type ServingProcess } from '../../support/processes.js';
import { until } from '../../support/until.js';
import { expectLegal } from './invariants.js';
import { workflowsOf, step } from './kit.js';

/** The service as a process of its own, killed without warning while workflows run. */
describe('kill -9 in the middle of workflows', async () => {
  const database = await cloneDatabase();
  const clock = await controlClock(database);
  const processes: ServingProcess[] = [];
  afterAll(async () => {
    for (const each of processes) each.signal('SIGKILL');
    await Promise.all(processes.map((each) => each.exited));
    await database.drop();
  });

  async function start(): Promise<ServingProcess> {
    const started = await spawnServer({ args: ['--dev', '--workers=10'], env: { DATABASE_URL: database.url } });
    processes.push(started);
    return started;
  }

  const completedJobs = async (): Promise<number> => {
    const [row] = await database.query<{ n: number }>(`SELECT count(*)::int AS n FROM millrace.done`);
    return row!.n;
  };

  const BRANCHES = ['b0', 'b1', 'b2', 'b3', 'b4'];
  const nap = (name: string, dependsOn: readonly string[] = []): object =>
    step(name, dependsOn, {
      task_name: 'sleep',
      payload: { duration_ms: 20 },
      config: { max_retries: 50, retry_delay_secs: 0 },
    });
  const GRAPH = [
    nap('root'),
    ...BRANCHES.map((name) => nap(name, ['root'])),
    nap('join', BRANCHES),
    nap('left', ['join']),
    nap('right', ['join']),
    nap('end', ['left', 'right']),
  ];

  it('is followed by the end of every workflow, with every step done once and nothing missing', async () => {
    const AT_A_TIME = 15;
    let server = await start();
    const create = (): Promise<string> => workflowsOf(server.as('anybody')).create(GRAPH);
    const ids: string[] = [];
    // Killed when so many jobs have ended: early, in the thick of it, and near the end. There is more to do each time:
    // while this process is held up, that one may come to the end of what there was.
    let interrupted = 0;
    for (const share of [0.05, 0.35, 0.7]) {
      const before = await completedJobs();
      ids.push(...(await Promise.all(Array.from({ length: AT_A_TIME }, create))));
      const enough = before + AT_A_TIME * GRAPH.length * share;
      await until(async () => (await completedJobs()) >= enough, { everyMs: 2 });
      server.signal('SIGKILL');
      expect((await server.exited).signal).toBe('SIGKILL');
      await expectLegal(database);
      interrupted += (await database.query('SELECT FROM millrace.leases')).length;
      // What the dead process held is held until its lease runs out.
      await clock.advance(60);
      server = await start();
    }
    // Had it always died at rest, nothing would have been tried.
    expect(interrupted).toBeGreaterThan(0);
    const workflows = workflowsOf(server.as('anybody'));
    for (const id of ids) {
      await until(async () => (await workflows.status(id)) === 'completed', { everyMs: 50 });
      const slept = { slept_for: 0.02 };
      const names = ['root', ...BRANCHES, 'join', 'left', 'right', 'end'];
      expect((await workflows.get(id)).context).toEqual({
        ...slept,
        ...Object.fromEntries(names.map((name) => [name, slept])),
      });
      const { payload } = await workflows.job(id, 'join');
      expect(Object.keys(payload._context).sort()).toEqual([...BRANCHES, 'root', 'slept_for']);
    }
    await expectLegal(database, { ended: true });
    const [row] = await database.query(
      `SELECT count(*)::int AS jobs, count(DISTINCT (workflow_id, step))::int AS steps FROM millrace.jobs`,
    );
    expect(row).toEqual({ jobs: ids.length * GRAPH.length, steps: ids.length * GRAPH.length });
    server.signal('SIGTERM');
    expect((await server.exited).code).toBe(0);
  });
});
