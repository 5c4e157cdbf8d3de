import { monotonicMs } from '@millrace/tools-shared';
import type { Fault } from '../fault.js';
import type { ChaosClient } from '../history/client.js';
import { QUICK } from '../stage/actors.js';
import type { Stage } from '../stage/stage.js';

const WAKE_UP_MS = 5_000;
const PER_SECOND = 5;

/**
 * The database terminates connections, five per second, including the ones that listen for notifications. A job created
 * through one process must still reach a waiter on another, by the safety poll at the latest.
 */
export const terminatedBackends: Fault = {
  row: 6,
  name: 'backends terminated, five per second, the listening one too',
  check: 'wake-ups still within 5 s',
  unit: 'seconds',
  full: 1_800,
  everyday: 10,
  async run(stage, count) {
    const database = await stage.database();
    const [entrance, exit] = [await stage.server({ database, mode: 'api' }), await stage.server({ database })];
    const endsAt = monotonicMs() + count * 1_000;
    const createdAt = new Map<string, number>();
    const going = (): boolean => monotonicMs() < endsAt;
    // Calls in flight on a terminated connection may fail, and say so.
    await stage.outage(async () => {
      await Promise.all([
        terminate(stage, going),
        produce(stage, stage.client(entrance), going, createdAt),
        ...[1, 2, 3].map(() => consume(stage, stage.client(exit), going, createdAt)),
      ]);
    });
    const worker = stage.worker({ urls: [exit.url], leaseSecs: 5, maxJobs: 50 });
    await database.expirePoolLeases();
    await stage.drained(database);
    await worker.terminate();
  },
};

async function terminate(stage: Stage, going: () => boolean): Promise<void> {
  const [database] = stage.databases;
  for (let n = 0; going(); n++) {
    // Every other one is a listening connection: they are few, and chance alone would miss them.
    const listening = n % 2 === 0 ? "query ILIKE '%listen%'" : 'true';
    await database?.terminateBackends(`application_name <> 'chaos' AND ${listening}`, 1);
    await stage.sleep(1_000 / PER_SECOND);
  }
}

async function produce(
  stage: Stage,
  client: ChaosClient,
  going: () => boolean,
  createdAt: Map<string, number>,
): Promise<void> {
  while (going()) {
    const { status, body } = await client.create('work', { config: { queue: 'remote', ...QUICK } });
    if (status === 201) createdAt.set(String(body.job_id), monotonicMs());
    await client.create('echo', { config: QUICK });
    await stage.sleep(stage.random.between(50, 250));
  }
}

/** A claim whose answer was lost comes back when its lease expires, so only the first delivery measures a wake-up. */
async function consume(
  stage: Stage,
  client: ChaosClient,
  going: () => boolean,
  createdAt: Map<string, number>,
): Promise<void> {
  while (going()) {
    for (const { id, token, job } of await client.lease('remote', { max: 5, secs: 3, wait: 5 })) {
      const waitedMs = monotonicMs() - (createdAt.get(id) ?? monotonicMs());
      if (job.delivery_count === 1) stage.expectWithin(WAKE_UP_MS, waitedMs, `job ${id} waited for its wake-up`);
      await client.complete(id, token);
    }
  }
}
