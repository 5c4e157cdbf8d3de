import { setTimeout as sleep } from 'node:timers/promises';
import { perRound, type Bench } from '../bench.js';
import type { BenchDatabase } from '../env/postgres.js';
import { cpuSeconds, residentMiB } from '../env/processes.js';

const SETTLE_MS = 3_000;

/** All that happens in these databases meanwhile, whoever does it. */
export async function statementsPerSecond(
  { postgres, scale: { idleSecs } }: Bench,
  databases: readonly BenchDatabase[],
): Promise<number> {
  const count = async (): Promise<number> => {
    let sum = 0;
    for (const database of databases) sum += await postgres.transactions(database);
    return sum;
  };
  const before = await count();
  await sleep(idleSecs * 1000);
  return ((await count()) - before) / idleSecs;
}

/**
 * A server with nothing to do. What PostgreSQL does in a database on its own (vacuum, statistics) is measured first and
 * subtracted.
 */
export const idle = perRound(async (scope) => {
  const { scale, results } = scope.bench;
  const database = await scope.database('millrace');
  const transactionsPerSecond = (): Promise<number> => statementsPerSecond(scope.bench, [database]);
  const byItself = await transactionsPerSecond();
  const server = await scope.millrace(database, 'all');
  await sleep(Math.min(SETTLE_MS, scale.idleSecs * 1000));
  const cpuBefore = cpuSeconds(server.pid);
  const withServer = await transactionsPerSecond();
  results.record('idle.cpu', ((cpuSeconds(server.pid) - cpuBefore) / scale.idleSecs) * 100);
  results.record('idle.statements', Math.max(0, withServer - byItself));
  results.record('idle.memory', residentMiB(server.pid));
});
