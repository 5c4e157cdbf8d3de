import { randomUUID } from 'node:crypto';
import { monotonicMs } from '@millrace/tools-shared';
import type { Fault } from '../fault.js';
import type { ChaosClient } from '../history/client.js';
import { QUICK } from '../stage/actors.js';
import type { ManagedProcess } from '../stage/processes.js';
import { breakThings, type Breakable } from '../support/breaking.js';
import { judgeSteps } from '../support/durable-steps.js';
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
    const startWorker = (): void => {
      const { url } = servers[workers.length % servers.length]!;
      const options = { queue: QUEUE, maxJobs: 10, workMs: [0, 40], leaseSecs: LEASE_SECS } as const;
      workers.push(stage.durableWorker({ urls: [url], ...options }));
    };
    const going = (): boolean => monotonicMs() < endsAt;
    const episode: Episode = { stage, cluster, database, servers, workers, sent, startWorker, going };
    for (let n = 0; n < WORKERS; n++) startWorker();
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

interface Episode extends Breakable {
  /** Values of signals that were acknowledged. */
  readonly sent: Set<string>;
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
