import { afterAll, describe, expect, it } from 'vitest';
import { Hub } from '../../src/engine/shared/hub.js';
import { FinishedLines } from '../../src/wiring/finished-lines.js';
import { startServer } from '../../src/server.js';
import { createLogger } from '../../src/telemetry/logger.js';
import { createClient } from '../support/client.js';
import { cloneDatabase } from '../support/database.js';
import { KEY_A, testConfig, WORKER_TOKEN } from '../support/server.js';
import { until } from '../support/until.js';
import { cancel, complete, createJob, createJobs, fail, leaseOne, newQueue } from '../engine/kit.js';

describe('the lines about finished jobs', async () => {
  const database = await cloneDatabase();
  const lines: string[] = [];
  const logger = createLogger({ level: 'silent', format: 'json' });
  const server = await startServer(testConfig(database.url), { logger, printFinished: (line) => lines.push(line) });
  const [a, worker] = [createClient(server.apiUrl!, KEY_A), createClient(server.apiUrl!, WORKER_TOKEN)];
  afterAll(async () => {
    await server.stop();
    await database.drop();
  });
  const lineOf = async (id: string): Promise<string> => {
    const about = (): string[] => lines.filter((line) => line.includes(id));
    await until(() => about().length > 0, { what: `a line about ${id}` });
    return about().join();
  };
  const TOOK = '(\\d+ ms|\\d+\\.\\d s)';

  it('tell task, queue, id, duration and how each ended, whoever ran it', async () => {
    const echoed = await createJob(a, 'default', { task_name: 'echo' });
    expect(await lineOf(echoed)).toMatch(new RegExp(`^  ✓ echo  default  ${echoed}  ${TOOK}$`));
    const queue = newQueue();
    const [completed, failed] = await createJobs(a, queue, 2);
    await complete(worker, await leaseOne(worker, queue));
    await fail(worker, await leaseOne(worker, queue), { retryable: false });
    const cancelled = await createJob(a, queue, { task_name: 'bell\u0007\u001b[31m' });
    await cancel(a, cancelled);
    expect(await lineOf(completed!)).toMatch(new RegExp(`^  ✓ task  ${queue}  ${completed}  ${TOOK}$`));
    expect(await lineOf(failed!)).toMatch(new RegExp(`^  ✗ task  ${queue}  ${failed}  ${TOOK}  non_retryable$`));
    expect(await lineOf(cancelled)).toBe(`  ✗ bell��[31m  ${queue}  ${cancelled}  cancelled`);
  });

  it('are bounded, and the number of the others is told', async () => {
    const hub = new Hub();
    const printed: string[] = [];
    const reads = { namesOf: async () => new Map() };
    const finished = new FinishedLines(hub, reads, (line) => printed.push(line));
    const news = { tenant: 't', outcome: 'completed', runSecs: 1.26, reason: null, error: null } as const;
    for (let n = 0; n < 1000; n++) hub.announceSettled({ ...news, id: `id-${n}`, task: 'echo', queue: 'q' });
    await finished.stop();
    expect(printed[0]).toBe('  ✓ echo  q  id-0  1.3 s');
    expect(printed.length).toBeLessThan(50);
    expect(printed.at(-1)).toBe(`  … and ${1000 - (printed.length - 1)} more jobs finished`);
    expect(hub.hearsSettled).toBe(false);
  });
});
