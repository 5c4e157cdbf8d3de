import { setTimeout as sleep } from 'node:timers/promises';
import { perRound } from '../bench.js';
import { cpuSeconds, residentMiB } from '../env/processes.js';

const SETTLE_MS = 3_000;

/**
 * A server with nothing to do. What PostgreSQL does in a database on its own (vacuum, statistics) is measured first and
 * subtracted.
 */
export const idle = perRound(async (scope) => {
  const { postgres, scale, results } = scope.bench;
  const database = await scope.database('millrace');
  const transactionsPerSecond = async (): Promise<number> => {
    const before = await postgres.transactions(database);
    await sleep(scale.idleSecs * 1000);
    return ((await postgres.transactions(database)) - before) / scale.idleSecs;
  };
  const byItself = await transactionsPerSecond();
  const server = await scope.millrace(database, 'all');
  await sleep(Math.min(SETTLE_MS, scale.idleSecs * 1000));
  const cpuBefore = cpuSeconds(server.pid);
  const withServer = await transactionsPerSecond();
  results.record('idle.cpu', ((cpuSeconds(server.pid) - cpuBefore) / scale.idleSecs) * 100);
  results.record('idle.statements', Math.max(0, withServer - byItself));
  results.record('idle.memory', residentMiB(server.pid));
});
