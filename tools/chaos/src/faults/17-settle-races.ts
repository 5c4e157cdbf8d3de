import type { Fault } from '../fault.js';
import type { ChaosClient, LeasedJob } from '../history/client.js';
import { QUICK } from '../stage/actors.js';
import type { ServerProcess } from '../stage/server.js';
import type { Stage } from '../stage/stage.js';

const QUEUE = 'remote';
const ROUND = 400;
/** Claimed right after one sweep, a job is overdue just before the next. */
const LEASE_SECS = 4;
/** When reports are made, after the sweep before: half of them around the next one, some so early that they win, some so late that they lose. */
const AROUND_SWEEP_MS = [4_600, 5_400] as const;
const SPANS_MS = [[2_500, 4_600], AROUND_SWEEP_MS, AROUND_SWEEP_MS, [5_400, 7_500]] as const;

/**
 * Leases run out, and in the moment in which the janitor comes for them their holders report after all: success to one process and failure to
 * the other. Whoever is first decides; what was lost is claimed again at once, and the replay of the history shows that no late report touched it.
 */
export const settleRaces: Fault = {
  row: 17,
  name: 'complete, fail and reclaim racing',
  check: 'one winner',
  unit: 'races',
  full: 10_000,
  everyday: 300,
  async run(stage, count) {
    const database = await stage.database();
    const servers = [
      await stage.server({ database, mode: 'api' }),
      await stage.server({ database, mode: 'api' }),
    ] as const;
    const clients = servers.map((server) => stage.client(server));
    let races = 0;
    while (races < count) {
      const size = Math.min(ROUND, count - races);
      races += await race(stage, servers[0], clients, size);
    }
    await finish(stage.client(servers[1]));
    await stage.drained(database);
    const [{ reclaimed = 0, failed = 0, completed = 0 } = {}] = await database.query<Record<string, number>>(
      `SELECT count(*) FILTER (WHERE error LIKE 'lease expired%')::int AS reclaimed,
              count(*) FILTER (WHERE error = 'asked to fail')::int AS failed,
              count(*) FILTER (WHERE error IS NULL)::int AS completed FROM millrace.job_records`,
    );
    stage.note(`won by complete ${completed}, by fail ${failed}, by the janitor ${reclaimed}`);
    stage.expect(Math.min(reclaimed, failed, completed) > 0, 'one of the three never won: nothing was tested');
  },
};

async function race(
  stage: Stage,
  server: ServerProcess,
  clients: readonly ChaosClient[],
  size: number,
): Promise<number> {
  const [one, two] = clients;
  if (!one || !two) return 0;
  await one.batch(Array.from({ length: size }, () => ({ task_name: 'work', config: { queue: QUEUE, ...QUICK } })));
  await sweep(stage, server);
  const sweptAt = performance.now();
  const leased: LeasedJob[] = [];
  while (leased.length < size) {
    const jobs = await one.lease(QUEUE, { max: 100, secs: LEASE_SECS });
    if (jobs.length === 0) throw new Error(`only ${leased.length} of ${size} jobs were given out`);
    leased.push(...jobs);
  }
  const reports = Promise.all(
    leased.map(async ({ id, token }) => {
      const [from, to] = stage.random.pick(SPANS_MS);
      await stage.sleep(Math.max(0, sweptAt + stage.random.between(from, to) - performance.now()));
      const [here = one, there = two] = stage.random.shuffle(clients);
      const both = [() => here.complete(id, token), () => there.fail(id, token)];
      await Promise.all(stage.random.shuffle(both).map((report) => report()));
    }),
  );
  await inherit(two, reports);
  return leased.length;
}

/** Whoever loses a job loses it to somebody: it is claimed again at once, and a report under the old token meets a new lease. */
async function inherit(client: ChaosClient, reports: Promise<unknown>): Promise<void> {
  let racing = true;
  void reports.finally(() => (racing = false));
  const inherited: LeasedJob[] = [];
  while (racing) inherited.push(...(await client.lease(QUEUE, { max: 50, secs: 60, wait: 1 })));
  await reports;
  await Promise.all(inherited.map(({ id, token }) => client.complete(id, token)));
}

/** Resolves when the janitor of this server has just been round. */
async function sweep(stage: Stage, server: ServerProcess): Promise<void> {
  const sweeps = async (): Promise<number> => {
    const page = await (await fetch(new URL('/metrics', server.metricsUrl))).text();
    return Number(/^millrace_sweep_seconds_count (\d+)$/m.exec(page)?.[1]);
  };
  const before = await sweeps();
  await stage.until(async () => (await sweeps()) > before, { what: 'the janitor to come', everyMs: 10 });
}

/** What lost its race, or failed, is left to be done. */
async function finish(client: ChaosClient): Promise<void> {
  for (;;) {
    const jobs = await client.lease(QUEUE, { max: 100, secs: 60, wait: 1 });
    if (jobs.length === 0) return;
    await Promise.all(jobs.map(({ id, token }) => client.complete(id, token)));
  }
}
