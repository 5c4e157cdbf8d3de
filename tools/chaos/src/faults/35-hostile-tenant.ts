import { median } from '@millrace/tools-shared';
import type { Fault } from '../fault.js';
import type { ChaosClient } from '../history/client.js';
import { TENANT_KEY, WORKER_TOKEN, type ServerProcess } from '../stage/server.js';
import type { Stage } from '../stage/stage.js';
import { attack, requestsOf, type AttackOrder, type AttackReport } from '../support/attack.js';
import { together } from '../support/concurrency.js';
import { probeHealth } from '../support/health.js';
import { completeAll, jobsOn } from '../support/jobs.js';
import { expectModestMemory } from '../support/memory.js';

const HOSTILE_KEY = 'hostile-tenant-key';
const QUEUE = 'shared';
/** How long each turn lasts. An attack in full takes all of it, a shorter one is smaller in proportion. */
const TURN_SECS = 30;
const LANES = 4;
const JOBS_PER_ROUND = 20;
const LEAST_SHARE = 0.5;
/** Of a turn of seconds, in which the first blow of an attack weighs most: they must keep moving. */
const LEAST_SHARE_OF_SHORT = 0.15;
const HEALTH_MS = 2_000;
const HEALTH_EVERY_MS = 250;

/**
 * One tenant does its worst, all of it at once, on a server as it comes. The jobs of another tenant keep moving, beside
 * the attack and beside as many harmless requests by turns.
 */
export const hostileTenant: Fault = {
  row: 35,
  name: 'a hostile tenant beside another one',
  check: "up, /health answers, memory below 1 GiB, the other's jobs at half their rate at least",
  unit: 'seconds of attack',
  full: 4 * TURN_SECS,
  everyday: 4,
  alone: true,
  async run(stage, count) {
    const database = await stage.database();
    const server = await stage.server({
      database,
      // The rest is as it comes.
      env: {
        MILLRACE_API_KEYS: `${TENANT_KEY}:chaos,${HOSTILE_KEY}:hostile`,
        MILLRACE_MAX_DB_CONNECTIONS: '10',
      },
    });
    const client = stage.client(server);
    const order = orderFor(server);
    const shares: number[] = [];
    for (let left = count; left > 0; left -= TURN_SECS) {
      const seconds = Math.min(left, TURN_SECS);
      const share = seconds / TURN_SECS;
      const harmless = await turn(stage, server, client, { ...order, share, hostile: false }, seconds);
      const hostile = await stage.outage(() =>
        turn(stage, server, client, { ...order, share, hostile: true }, seconds),
      );
      shares.push(hostile.rate / harmless.rate);
      stage.note(
        `${Math.round(hostile.rate)} jobs per second beside ${requestsOf(hostile.report)} hostile requests, ` +
          `${Math.round(harmless.rate)} beside ${requestsOf(harmless.report)} harmless ones`,
      );
      await stage.outage(() => settleDown(stage, client, database.liveJobs.bind(database)));
    }
    const share = median(shares);
    const least = count < TURN_SECS ? LEAST_SHARE_OF_SHORT : LEAST_SHARE;
    stage.expect(share >= least, `beside the attack ${Math.round(100 * share)} % of the other's jobs moved`);
    expectModestMemory(stage, server);
  },
};

const orderFor = (server: ServerProcess): Omit<AttackOrder, 'hostile' | 'share'> => ({
  port: Number(new URL(server.url).port),
  tenantKey: HOSTILE_KEY,
  workerToken: WORKER_TOKEN,
  queue: QUEUE,
});

/** Resolves to how many jobs of the other tenant were completed per second. */
async function turn(
  stage: Stage,
  server: ServerProcess,
  client: ChaosClient,
  order: AttackOrder,
  seconds: number,
): Promise<{ readonly rate: number; readonly report: AttackReport }> {
  let completed = 0;
  const endsAt = performance.now() + seconds * 1_000;
  const going = (): boolean => performance.now() < endsAt;
  const move = async (): Promise<void> => {
    while (going()) {
      // In two steps: the other lanes add to it during the wait.
      const moved = await moveSome(stage, client);
      completed += moved;
    }
  };
  const watch = async (): Promise<void> => {
    while (going()) {
      await probeHealth(stage, server, HEALTH_MS);
      await stage.sleep(HEALTH_EVERY_MS);
    }
  };
  const startedAt = performance.now();
  const report = await attack(order, async () => void (await Promise.all([together(LANES, move), watch()])));
  const rate = (completed * 1_000) / (performance.now() - startedAt);
  for (const [name, { sent, statuses }] of Object.entries(report)) {
    const errors = Object.entries(statuses).filter(([status]) => Number(status) >= 500 && status !== '503');
    stage.expect(errors.length === 0, `${name}: ${JSON.stringify(Object.fromEntries(errors))} of ${sent} answers`);
  }
  return { rate, report };
}

/** Creates, leases and completes some jobs; resolves to how many were completed. */
async function moveSome(stage: Stage, client: ChaosClient): Promise<number> {
  const { status } = await client.batch(jobsOn(QUEUE, JOBS_PER_ROUND));
  if (status !== 201) await stage.sleep(100);
  const leased = await client.lease(QUEUE, { max: JOBS_PER_ROUND, secs: 60 });
  const replies = await completeAll(client, leased);
  return replies.filter((reply) => reply.status === 204).length;
}

/** What the attack has left for the pool is worked off, and the other tenant's jobs are finished. */
async function settleDown(
  stage: Stage,
  client: ChaosClient,
  liveJobs: (condition: string) => Promise<number>,
): Promise<void> {
  const emptied = async (): Promise<true | string> => {
    const leased = await client.lease(QUEUE, { max: 100, secs: 60 });
    await completeAll(client, leased);
    const [mine, pooled] = [await liveJobs(`tenant = 'chaos'`), await liveJobs(`queue = 'default'`)];
    return mine + pooled === 0 || `${mine} jobs of the other tenant and ${pooled} of the pool are left`;
  };
  await stage.until(emptied, { what: 'the attack to be worked off', withinMs: 300_000, everyMs: 100 });
}
