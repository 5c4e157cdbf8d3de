import { monotonicMs } from '@millrace/tools-shared';
import type { Fault } from '../fault.js';
import type { ChaosClient } from '../history/client.js';
import type { Stage } from '../stage/stage.js';
import { createEverySecond, doubleFirings, firings } from '../support/schedules.js';

const HOUR_MS = 3_600_000;
const EVERY_MS = 700;
const BACKOFF_SECS = 2;
const LEASE_SECS = 3;

/**
 * Two servers whose clocks are an hour off, and keep jumping from one side to the other. Nothing that waits may notice.
 */
export const wrongClock: Fault = {
  row: 7,
  name: 'process clock one hour off, jumping mid-run',
  check: 'leases, cron and backoff unaffected',
  unit: 'jumps',
  full: 100,
  everyday: 12,
  async run(stage, count) {
    const database = await stage.database();
    const plan = (sign: number): readonly (readonly [number, number])[] =>
      Array.from({ length: count + 20 }, (_, n) => [n * EVERY_MS, (n % 2 === 0 ? sign : -sign) * HOUR_MS] as const);
    const ahead = await stage.server({ database, ...stage.clock(plan(1)) });
    const behind = await stage.server({ database, ...stage.clock(plan(-1)) });
    const client = stage.client(ahead);
    const beforeCreateAt = monotonicMs();
    await createEverySecond(client);
    const startedAt = monotonicMs();
    const rounds = Math.max(1, Math.floor((count * EVERY_MS) / ((LEASE_SECS + 5) * 1_000)));
    for (let round = 0; round < rounds; round++) {
      await Promise.all([backoff(stage, client), lease(stage, stage.client(behind)), scheduled(stage, client)]);
    }
    await stage.sleep(Math.max(0, count * EVERY_MS - (monotonicMs() - startedAt)));
    const seconds = (monotonicMs() - startedAt) / 1_000;
    const fired = await firings(database);
    // The schedule is there before its create is answered, and fires until the firings are read.
    const atMostSecs = (monotonicMs() - beforeCreateAt) / 1_000;
    const sinceMs = seconds * 1_000;
    stage.expectWithin(2_000, sinceMs - fired.length * 1_000, 'seconds without a firing of their own', sinceMs);
    stage.expect(fired.length <= atMostSecs + 2, `${fired.length} firings in only ${atMostSecs.toFixed(1)} s`);
    for (const { occurrence, firedAt } of fired)
      stage.expectWithin(1_000, (firedAt - occurrence) * 1_000, 'a firing was late', sinceMs);
    for (const twice of await doubleFirings(database)) stage.violation(twice);
  },
};

async function create(client: ChaosClient, body: Readonly<Record<string, unknown>>): Promise<string> {
  const reply = await client.create('work', body);
  if (reply.status !== 201) throw new Error(`a create was answered ${reply.status ?? 'not at all'}`);
  return String(reply.body.job_id);
}

/** How long it takes until a job of the queue is given out. */
async function claimedAfter(stage: Stage, client: ChaosClient, queue: string, since: number): Promise<number> {
  const [claimed] = await stage.until(
    async () => {
      const jobs = await client.lease(queue, { secs: 30, wait: 10 });
      return jobs.length > 0 && jobs;
    },
    { what: `a job on ${queue}` },
  );
  const tookMs = monotonicMs() - since;
  if (claimed) await client.complete(claimed.id, claimed.token);
  return tookMs;
}

/** A retry comes after its backoff, neither sooner nor much later. */
async function backoff(stage: Stage, client: ChaosClient): Promise<void> {
  const queue = `backoff-${monotonicMs()}`;
  const config = { queue, retry_backoff: 'fixed', retry_delay_secs: BACKOFF_SECS, jitter_factor: 0 };
  await create(client, { config });
  const [job] = await client.lease(queue);
  const failedAt = monotonicMs();
  if (job) await client.fail(job.id, job.token);
  const tookMs = await claimedAfter(stage, client, queue, failedAt);
  stage.expect(
    tookMs >= BACKOFF_SECS * 1_000 - 50,
    `a retry came ${Math.round(tookMs)} ms after the failure, not ${BACKOFF_SECS} s`,
  );
  stage.expectWithin(BACKOFF_SECS * 1_000 + 1_000, tookMs, 'a retry came');
}

/** A lease expires when it should, and no later; the oracle notices one that expires too soon. */
async function lease(stage: Stage, client: ChaosClient): Promise<void> {
  const queue = `lease-${monotonicMs()}`;
  await create(client, { config: { queue, retry_delay_secs: 0, jitter_factor: 0 } });
  const claimedAt = monotonicMs();
  await client.lease(queue, { secs: LEASE_SECS });
  const tookMs = await claimedAfter(stage, client, queue, claimedAt);
  stage.expectWithin((LEASE_SECS + 7) * 1_000, tookMs, 'an abandoned lease was reclaimed');
}

/** A job scheduled for a time of the true clock is given out at that time. */
async function scheduled(stage: Stage, client: ChaosClient): Promise<void> {
  const queue = `scheduled-${monotonicMs()}`;
  const at = Date.now() + 1_500;
  await create(client, { run_at: new Date(at).toISOString(), config: { queue } });
  const createdAt = monotonicMs();
  const aheadMs = at - Date.now();
  const tookMs = await claimedAfter(stage, client, queue, createdAt);
  stage.expect(tookMs >= aheadMs - 50, `a scheduled job came ${Math.round(aheadMs - tookMs)} ms early`);
  stage.expectWithin(aheadMs + 1_000, tookMs, 'a scheduled job came');
}
