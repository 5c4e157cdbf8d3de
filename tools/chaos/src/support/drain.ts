import { median } from '@millrace/tools-shared';
import type { ChaosClient } from '../history/client.js';
import { QUICK } from '../stage/actors.js';
import type { ServerProcess } from '../stage/server.js';
import type { Stage } from '../stage/stage.js';

const BATCH = 1_000;

/** A server whose pool works on a queue of its own. */
export interface Drainer {
  readonly server: ServerProcess;
  readonly queue: string;
}

/** As counted by the server: a query on the database would be work for it too. */
export async function completedBy(client: ChaosClient): Promise<number> {
  const { body } = await client.send('other', 'GET', '/api/v1/stats');
  return Number(body.jobs_completed);
}

/**
 * The jobs per second of a pool that finds all of them waiting. It stands still while `producer`, a client of another
 * server, creates them: the rate is then its own, not that of the creates.
 */
async function drainRate(
  stage: Stage,
  producer: ChaosClient,
  { server, queue }: Drainer,
  batches: number,
): Promise<number> {
  const client = stage.client(server);
  const before = await completedBy(client);
  const jobs = Array.from({ length: BATCH }, () => ({ task_name: 'echo', config: { queue, ...QUICK } }));
  server.process.pause();
  try {
    for (let batch = 0; batch < batches; batch++) await producer.batch(jobs);
  } finally {
    server.process.resume();
  }
  const startedAt = performance.now();
  await stage.until(async () => (await completedBy(client)) - before >= BATCH * batches, {
    what: `the queue ${queue} to be drained`,
    withinMs: 120_000,
  });
  return (BATCH * batches * 1_000) / (performance.now() - startedAt);
}

export interface Comparison {
  readonly producer: ChaosClient;
  /** What the other one is measured by. */
  readonly clean: Drainer;
  readonly troubled: Drainer;
  readonly rounds: number;
  /** Of a thousand jobs each, per drain. */
  readonly batches: number;
  readonly leastShare: number;
  /** What the trouble is, for the message. */
  readonly what: string;
}

/** Both drain by turns, after one drain each to warm up; reports a violation where one is too slow beside the other. */
export async function compareDrains(stage: Stage, comparison: Comparison): Promise<void> {
  const { producer, clean, troubled, rounds, batches, leastShare, what } = comparison;
  const rates = { clean: [] as number[], troubled: [] as number[] };
  for (const drainer of [clean, troubled]) await drainRate(stage, producer, drainer, batches);
  for (let round = 0; round < rounds; round++) {
    rates.clean.push(await drainRate(stage, producer, clean, batches));
    rates.troubled.push(await drainRate(stage, producer, troubled, batches));
  }
  const [without, withIt] = [median(rates.clean), median(rates.troubled)];
  const text =
    `${what}: ${Math.round(withIt)} jobs per second, ` +
    `${Math.round((100 * withIt) / without)} % of ${Math.round(without)}`;
  stage.note(text);
  stage.expect(withIt >= leastShare * without, text);
}
