import type { Fault } from '../fault.js';
import type { ChaosClient } from '../history/client.js';
import { QUICK } from '../stage/actors.js';
import type { ServerProcess } from '../stage/server.js';
import type { Stage } from '../stage/stage.js';
import { probeHealth } from '../support/health.js';
import { completeAll } from '../support/jobs.js';
import { listByCursor, listByOffset, listWithoutReading } from '../support/large-lists.js';
import { expectModestMemory, mebibytes } from '../support/memory.js';

const MIB = 1024 * 1024;
const ARGS = [`--max-payload-bytes=${16 * MIB}`, `--max-body-bytes=${17 * MIB}`];
const PLAIN = 'x'.repeat(6 * MIB);
/** Each takes two bytes in JSON: 16 MiB less the rest of the payload. */
const QUOTES = '"'.repeat(8 * MIB - 64);
/** "About 16 MiB", with one job more. */
const MOST_LEASED_BYTES = 32 * MIB;
const UNREAD = 20;
const LEASE_SECS = 120;
const HEALTH_MS = 1_000;

/**
 * Jobs of many megabytes, more of them than any string or heap could hold at once, are leased a hundred at a time, run
 * by the pool, listed, and listed by clients that never read the answer.
 */
export const largeJobs: Fault = {
  row: 28,
  name: 'jobs of 6 and 16 MiB, leased, run and listed by the hundred',
  check: 'each completes once, lists are whole, memory below 1 GiB',
  unit: 'jobs',
  full: 100,
  everyday: 5,
  rare: true,
  async run(stage, count) {
    const database = await stage.database();
    const server = await stage.server({ database, args: ARGS });
    const client = stage.client(server, { timeoutMs: 120_000 });
    const expected = new Map<string, string>();
    for (let n = 0; n < count; n++) await create(stage, client, 'remote', PLAIN, expected);
    for (let n = 0; n < Math.ceil(count / 5); n++) await create(stage, client, 'remote', QUOTES, expected);

    await expectLists(stage, server, client, expected.size);
    const hangUp = listWithoutReading(server, UNREAD);
    await leaseAndComplete(stage, server, client, expected);
    for (let n = 0; n < Math.ceil(count / 2); n++) await create(stage, client, 'default', PLAIN);
    await stage.drained(database, 600_000);
    hangUp();
    await probeHealth(stage, server, HEALTH_MS);
    const unfinished = await database.count(`millrace.job_records WHERE status <> 'completed' OR delivery_count <> 1`);
    stage.expect(unfinished === 0, `${unfinished} large jobs did not complete at their first delivery`);
    expectModestMemory(stage, server);
  },
};

async function create(
  stage: Stage,
  client: ChaosClient,
  queue: string,
  text: string,
  expected?: Map<string, string>,
): Promise<void> {
  const { status, body } = await client.create('echo', { payload: { text }, config: { queue, ...QUICK } });
  stage.expect(status === 201, `a large job was answered ${status ?? 'not at all'}`);
  if (status === 201) expected?.set(String(body.job_id), text);
}

async function expectLists(stage: Stage, server: ServerProcess, client: ChaosClient, jobs: number): Promise<void> {
  const { ids, pages } = await listByCursor(stage, client);
  stage.expect(ids.size === jobs, `${ids.size} of ${jobs} jobs were listed by cursor`);
  stage.expect(pages > jobs / 5, `${jobs} large jobs took only ${pages} pages by cursor`);
  const bytes = await listByOffset(stage, server);
  const least = Math.min(jobs, 100) * PLAIN.length;
  stage.expect(bytes > least, `a list of ${jobs} jobs by offset had ${bytes} bytes`);
  stage.note(`${pages} pages by cursor; ${Math.round(bytes / MIB)} MiB in one by offset`);
}

/** However many are asked for, an answer holds some of them, and never none while any is due. */
async function leaseAndComplete(
  stage: Stage,
  server: ServerProcess,
  client: ChaosClient,
  expected: ReadonlyMap<string, string>,
): Promise<void> {
  const left = new Map(expected);
  while (left.size > 0) {
    const leased = await client.lease('remote', { max: 100, secs: LEASE_SECS });
    if (leased.length === 0) break;
    const bytes = leased.reduce((sum, { job }) => sum + JSON.stringify(job.payload).length, 0);
    stage.expect(bytes <= MOST_LEASED_BYTES, `a lease gave ${leased.length} jobs of ${mebibytes(bytes)} together`);
    for (const { id, job } of leased) {
      const { text } = job.payload as { readonly text: string };
      stage.expect(text === left.get(id), `job ${id} was delivered with another payload, or again`);
      left.delete(id);
    }
    await completeAll(client, leased);
    await probeHealth(stage, server, HEALTH_MS);
  }
  stage.expect(left.size === 0, `a lease was empty while ${left.size} large jobs were due`);
}
