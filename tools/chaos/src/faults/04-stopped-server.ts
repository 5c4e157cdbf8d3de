import type { Fault } from '../fault.js';
import type { ChaosClient } from '../history/client.js';
import { QUICK } from '../stage/actors.js';
import type { Database } from '../stage/database.js';
import type { ServerProcess } from '../stage/server.js';
import type { Stage } from '../stage/stage.js';
import { createEverySecond, doubleFirings } from '../support/schedules.js';

/**
 * A whole server is stopped while its pool holds jobs, its scheduler fires and its janitor sweeps. The other one takes
 * over; then the first wakes up, convinced that everything is still its own.
 */
export const stoppedServer: Fault = {
  row: 4,
  name: 'SIGSTOP a server that holds leases, cron or janitor work',
  check: 'no double claim, no double firing',
  unit: 'stops',
  full: 200,
  everyday: 2,
  async run(stage, count) {
    const database = await stage.database();
    const servers = [await stage.server({ database }), await stage.server({ database })];
    const [first, second] = servers as [ServerProcess, ServerProcess];
    await createEverySecond(stage.client(first));
    for (let stop = 1; stop <= count; stop++) {
      const [stopped, other] = stage.random.chance(0.5) ? [first, second] : [second, first];
      await fill(stage, stage.client(other));
      await stage.sleep(stage.random.between(0, 300));
      stopped.process.pause();
      await database.expirePoolLeases();
      await reclaimed(stage, database);
      stopped.process.resume();
    }
    // Not the jobs of the schedule, which keeps adding more.
    const unfinished = (): Promise<number> => database.liveJobs('idempotency_key IS NULL');
    await stage.until(async () => (await unfinished()) === 0, { what: 'every job to end' });
    for (const twice of await doubleFirings(database)) stage.violation(twice);
  },
};

/** Jobs for both pools that outlast the moment until the stop, and a workflow whose steps are settled under a lock. */
async function fill(stage: Stage, client: ChaosClient): Promise<void> {
  const jobs = Array.from({ length: 20 }, () => ({
    task_name: 'sleep',
    payload: { duration_ms: stage.random.integer(50, 600) },
    config: QUICK,
  }));
  const step = (name: string, depends_on: readonly string[]): object => ({
    name,
    task_name: 'echo',
    depends_on,
    config: QUICK,
  });
  await Promise.all([
    client.batch(jobs),
    client.send('other', 'POST', '/api/v1/workflows', {
      body: { name: 'fan', steps: [step('a', []), step('b', ['a']), step('c', ['a']), step('d', ['b', 'c'])] },
    }),
  ]);
}

/** Waits until the stopped server holds nothing any more. */
async function reclaimed(stage: Stage, database: Database): Promise<void> {
  await stage.until(async () => (await database.overdue()) === 0, {
    what: 'the other server to take over',
  });
}
