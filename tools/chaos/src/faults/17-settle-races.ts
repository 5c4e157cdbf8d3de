import { readMetrics } from '@millrace/tools-shared';
import type { Fault } from '../fault.js';
import type { ChaosClient, LeasedJob } from '../history/client.js';
import type { Database } from '../stage/database.js';
import type { ServerProcess } from '../stage/server.js';
import type { Stage } from '../stage/stage.js';
import { startApiPair, type ApiPair } from '../support/api-pair.js';
import { completeAll, emptyQueue, jobsOn, leaseMany } from '../support/jobs.js';

const QUEUE = 'remote';
const ROUND = 400;
/** A job claimed right after one sweep is overdue at the next, however long a loaded machine takes to claim them all. */
const LEASE_SECS = 3;
/** When reports are sent after a sweep: half of them around the next one, some early enough to win. */
const AROUND_SWEEP_MS = [4_600, 5_400] as const;
const SPANS_MS = [[1_500, 4_600], AROUND_SWEEP_MS, AROUND_SWEEP_MS] as const;

/**
 * Leases expire, and just as the janitor reclaims them their holders report after all: success to one process and
 * failure to the other. The first one decides. Jobs that were reclaimed are claimed again at once, and the replay of
 * the history shows that no late report touched them.
 */
export const settleRaces: Fault = {
  row: 17,
  name: 'complete, fail and reclaim racing',
  check: 'one winner',
  unit: 'races',
  full: 10_000,
  everyday: 200,
  async run(stage, count) {
    const pair = await startApiPair(stage);
    const { database, clients } = pair;
    for (let races = 0; races < count; races += ROUND) await race(stage, pair, Math.min(ROUND, count - races));
    await emptyQueue(clients[1], QUEUE, 1);
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

async function race(stage: Stage, { database, servers, clients }: ApiPair, size: number): Promise<void> {
  const [one, two] = clients;
  const lostBefore = await reclaims(database);
  await one.batch(jobsOn(QUEUE, size));
  await nextSweep(stage, servers[0]);
  const sweptAt = performance.now();
  const leased = await leaseMany(one, QUEUE, size, LEASE_SECS);
  if (leased.length < size) throw new Error(`only ${leased.length} of ${size} jobs were given out`);
  const reclaiming = stage.until(async () => (await reclaims(database)) > lostBefore, {
    what: 'the janitor to reclaim a job',
    everyMs: 20,
  });
  const reports = Promise.all(
    leased.map(async ({ id, token }, index) => {
      // Every fourth comes when the janitor has begun to reclaim, whenever that is, and so mostly too late.
      if (index % 4 === 0) await reclaiming;
      else {
        const [from, to] = stage.random.pick(SPANS_MS);
        await stage.sleep(Math.max(0, sweptAt + stage.random.between(from, to) - performance.now()));
      }
      const [here = one, there = two] = stage.random.shuffle(clients);
      const both = [() => here.complete(id, token), () => there.fail(id, token)];
      await Promise.all(stage.random.shuffle(both).map((report) => report()));
    }),
  );
  await inherit(two, reports);
}

/** How many jobs the janitor has taken from their holders. */
const reclaims = (database: Database): Promise<number> =>
  database.count("millrace.job_records WHERE error LIKE 'lease expired%'");

/** Claims reclaimed jobs again at once, so that a report under the old token meets a new lease. */
async function inherit(client: ChaosClient, reports: Promise<unknown>): Promise<void> {
  let racing = true;
  void reports.finally(() => (racing = false));
  const inherited: LeasedJob[] = [];
  while (racing) inherited.push(...(await client.lease(QUEUE, { max: 50, secs: 60, wait: 1 })));
  await reports;
  await completeAll(client, inherited);
}

/** Resolves when the janitor of this server has just finished a sweep. */
async function nextSweep(stage: Stage, server: ServerProcess): Promise<void> {
  const sweeps = async (): Promise<number> => (await readMetrics(server.metricsUrl))('millrace_sweep_seconds_count');
  const before = await sweeps();
  await stage.until(async () => (await sweeps()) > before, { what: 'the janitor to sweep', everyMs: 10 });
}
