import { randomUUID } from 'node:crypto';
import { monotonicMs } from '@millrace/tools-shared';
import type { Fault } from '../fault.js';
import type { ChaosClient } from '../history/client.js';
import { QUICK } from '../stage/actors.js';
import type { Cluster } from '../stage/cluster.js';
import type { Database } from '../stage/database.js';
import type { ManagedProcess } from '../stage/processes.js';
import type { ServerProcess } from '../stage/server.js';
import type { Stage } from '../stage/stage.js';
import { untilServing } from '../support/serving.js';

const QUEUE = 'durable';
const WORKERS = 2;
const LEASE_SECS = 5;
/** Jobs share these, so that signals and waits race. */
const KEYS = 3;
/** Of the handler of actors/durable-worker.ts. */
const WAITS = 2;
const MOST_LIVE = 40;

/**
 * Durable jobs run steps and wait for signals, while workers, servers and PostgreSQL are killed. Whatever happens: a
 * step whose result was acknowledged never runs again, what stands under its name is the same for every attempt, and
 * each acknowledged signal is taken by one wait.
 */
export const durableKills: Fault = {
  row: 44,
  name: 'durable jobs, under kill -9 of workers, servers and PostgreSQL',
  check: 'no acknowledged step runs again, each signal is taken once, nobody stuck',
  unit: 'seconds',
  full: 600,
  everyday: 12,
  rare: true,
  async run(stage, count) {
    const cluster = await stage.cluster();
    const database = await stage.database({ on: cluster });
    const servers = [await stage.server({ database }), await stage.server({ database, mode: 'api' })];
    const clients = servers.map((server) => stage.client(server));
    stage.poolQueues.add(QUEUE); // its jobs end without a call that the history knows
    const endsAt = monotonicMs() + count * 1_000;
    const workers: ManagedProcess[] = [];
    const sent = new Set<string>();
    const episode: Episode = { stage, cluster, database, servers, workers, sent, going: () => monotonicMs() < endsAt };
    startWorkers(episode, WORKERS);
    await stage.outage(async () => {
      await Promise.all([breakThings(episode), ...clients.map((client) => create(episode, client))]);
      await untilServing(stage, servers);
    });
    await settled(episode);
    await Promise.all(workers.filter(({ isAlive }) => isAlive).map((worker) => worker.terminate()));
    judgeSteps(stage, workers);
    await judgeSignals(episode);
  },
};

interface Episode {
  readonly stage: Stage;
  readonly cluster: Cluster;
  readonly database: Database;
  readonly servers: readonly ServerProcess[];
  /** All that were ever started. */
  readonly workers: ManagedProcess[];
  /** Values of signals that were acknowledged. */
  readonly sent: Set<string>;
  readonly going: () => boolean;
}

function startWorkers({ stage, servers, workers }: Episode, n: number): void {
  for (let each = 0; each < n; each++) {
    const { url } = servers[workers.length % servers.length]!;
    workers.push(
      stage.durableWorker({ urls: [url], queue: QUEUE, maxJobs: 10, workMs: [0, 40], leaseSecs: LEASE_SECS }),
    );
  }
}

async function breakThings(episode: Episode): Promise<void> {
  const { stage, cluster, database, servers, workers, going } = episode;
  const broken = { workers: 0, servers: 0, connections: 0, postgres: 0 };
  while (going()) {
    await stage.sleep(stage.random.between(100, 700));
    const choice = stage.random.below(10);
    if (choice < 4) {
      const alive = workers.filter(({ isAlive }) => isAlive);
      await stage.random.pick(alive).kill();
      startWorkers(episode, 1);
      broken.workers++;
    } else if (choice < 6) {
      const victim = stage.random.pick(servers);
      await victim.process.kill();
      await victim.start();
      broken.servers++;
    } else if (choice < 9) {
      await database.terminateBackends(`application_name <> 'chaos'`, stage.random.integer(1, 3));
      broken.connections++;
    } else {
      await cluster.stop('immediate');
      await cluster.start();
      broken.postgres++;
    }
  }
  stage.note(`killed: ${JSON.stringify(broken)}`);
}

/** Creates a job, and sends as many signals as it will wait for: some come before their wait, some after. */
async function create({ stage, database, sent, going }: Episode, client: ChaosClient): Promise<void> {
  while (going()) {
    if ((await database.liveJobs().catch(() => MOST_LIVE)) >= MOST_LIVE) {
      await stage.sleep(50);
      continue;
    }
    const key = `key-${stage.random.below(KEYS)}`;
    const id = randomUUID();
    // Repeated until it is acknowledged: the number of waits must be known.
    const body = { payload: { key }, config: { ...QUICK, queue: QUEUE } };
    await stage.until(async () => (await client.create('work', body, id)).status === 201, {
      what: 'a job to be taken',
    });
    for (let n = 0; n < WAITS; n++) {
      const value = `${id} ${n}`;
      const signal = { body: { name: 'go', key, value }, headers: { 'idempotency-key': value } };
      const send = async (): Promise<boolean> =>
        (await client.send('other', 'POST', '/api/v1/signals', signal)).status === 202;
      await stage.until(send, { what: 'a signal to be taken' });
      sent.add(value);
    }
  }
}

/** All jobs end; or some wait for signals that are stored, and do so each time that one looks. */
async function settled({ stage, database }: Episode): Promise<void> {
  let stuckLooks = 0;
  await stage.until(
    async () => {
      const live = await database.liveJobs();
      if (live === 0) return true;
      const [{ n = 0 } = {}] = await database.query<{ n: number }>(
        `SELECT count(*)::int AS n FROM millrace.waits w
         WHERE w.open AND EXISTS (
           SELECT FROM millrace.signals s WHERE s.tenant = w.tenant AND s.name = w.signal AND s.key = w.key
         )`,
      );
      stuckLooks = n > 0 ? stuckLooks + 1 : 0;
      if (stuckLooks < 20) return `${live} jobs left`;
      stage.violation(`${n} jobs wait for signals that are stored`);
      return true;
    },
    { what: 'every job to end', withinMs: 120_000, everyMs: 200 },
  );
}

interface StepLine {
  readonly msg: 'ran' | 'kept';
  readonly job: string;
  readonly step: string;
  readonly at: number;
  readonly value?: string;
  readonly mine?: string | null;
}

function judgeSteps(stage: Stage, workers: readonly ManagedProcess[]): void {
  const steps = new Map<string, StepLine[]>();
  for (const worker of workers)
    for (const line of worker.lines() as readonly unknown[] as readonly StepLine[]) {
      if (line.msg !== 'ran' && line.msg !== 'kept') continue;
      const name = `${line.job} ${line.step}`;
      steps.set(name, [...(steps.get(name) ?? []), line]);
    }
  let runs = 0;
  for (const [name, lines] of steps) {
    const kept = lines.filter(({ msg }) => msg === 'kept');
    const acknowledgedAt = Math.min(...kept.map(({ at }) => at));
    const ran = lines.filter(({ msg }) => msg === 'ran');
    runs += ran.length;
    if (ran.some(({ at }) => at > acknowledgedAt)) stage.violation(`${name} ran after its result was acknowledged`);
    if (new Set(kept.map(({ value }) => value)).size > 1) stage.violation(`${name} had two results`);
    const other = kept.some(({ mine, value }) => mine !== null && mine !== value);
    if (other) stage.violation(`${name} ran, and another result stood under its name`);
  }
  stage.expect(steps.size > 0, 'no step ran: nothing was tested');
  stage.note(`${steps.size} steps, ${runs} runs of them`);
}

async function judgeSignals({ stage, database, sent }: Episode): Promise<void> {
  const taken = await database.query<{ value: string }>(
    `SELECT value ->> 'value' AS value FROM millrace.checkpoints WHERE name IN ('paid', 'received')`,
  );
  const stored = await database.query<{ value: string }>(`SELECT value #>> '{}' AS value FROM millrace.signals`);
  const times = new Map<string, number>();
  for (const { value } of [...taken, ...stored]) times.set(value, (times.get(value) ?? 0) + 1);
  for (const value of sent) {
    const n = times.get(value) ?? 0;
    if (n !== 1) stage.violation(`the signal "${value}" was acknowledged, and is there ${n} times`);
  }
  stage.note(`${sent.size} signals, ${taken.length} of them taken`);
}
