import { say } from '@millrace/tools-shared';
import { perRound, type Scope } from '../bench.js';
import type { BenchDatabase } from '../env/postgres.js';
import { isThere } from '../env/install.js';
import type { Rate } from '../load/closed-loop.js';
import { createWithWrk } from '../load/wrk.js';

export const COUNTS = [1, 2] as const;
const CONNECTIONS = 64;
/**
 * Two processes share the requests, so each takes twice as long to compile what it runs often; with the usual time to
 * warm up, two were measured while they compiled.
 */
const WARM_UPS = 6;
/** Each first as often as last: the speed of a machine changes within a minute. */
const TURNS = [1, 2, 2, 1] as const;

/**
 * Single creates over HTTP with one process and with two behind one port, in turns on one database. The load generator
 * and PostgreSQL need processor time as well: what is measured is what a second process adds to the whole machine, not
 * to itself. So the generator must take as little as possible, and is wrk where there is one.
 */
export const processes = perRound(async (scope) => {
  const { results } = scope.bench;
  const database = await scope.database('millrace');
  const hasWrk = await isThere('wrk', say);
  if (!hasWrk)
    results.note('wrk is not installed, and this user cannot install it: creates come from our own generator');
  const measured = new Map<number, Rate[]>(COUNTS.map((count) => [count, []]));
  for (const count of TURNS) measured.get(count)?.push(await measure(scope, database, count, hasWrk));
  for (const [count, rates] of measured) {
    const mean = (of: (rate: Rate) => number): number => rates.reduce((sum, rate) => sum + of(rate), 0) / rates.length;
    results.record(
      `processes.${count}`,
      mean(({ perSecond }) => perSecond),
    );
    results.record(
      `processes-p50.${count}`,
      mean(({ p50 }) => p50),
    );
    results.record(
      `processes-p99.${count}`,
      mean(({ p99 }) => p99),
    );
  }
});

async function measure(scope: Scope, database: BenchDatabase, count: number, hasWrk: boolean): Promise<Rate> {
  const { windowMs, warmupMs } = scope.bench.scale;
  const server = await scope.millrace(database, 'api', count);
  try {
    if (!hasWrk) {
      const target = { port: server.port, connections: CONNECTIONS, what: 'single' } as const;
      return await scope.load().call('rate', { ...target, windowMs, warmupMs: WARM_UPS * warmupMs });
    }
    await createWithWrk(server.port, CONNECTIONS, WARM_UPS * warmupMs);
    return await createWithWrk(server.port, CONNECTIONS, windowMs);
  } finally {
    await server.stop();
  }
}
