import { availableParallelism } from 'node:os';
import { say } from '@millrace/tools-shared';
import { perRound, type Scope } from '../bench.js';
import type { BenchDatabase } from '../env/postgres.js';
import { isThere } from '../env/install.js';
import { endedChildrenCpuSeconds, treeCpuSeconds } from '../env/processes.js';
import type { Rate } from '../load/closed-loop.js';
import { createWithWrk, wrkSeconds } from '../load/wrk.js';
import type { Results } from '../results.js';

export const COUNTS = [1, 2] as const;
const CONNECTIONS = 64;
/**
 * Two processes share the requests, so each takes twice as long to compile what it runs often; with the usual time to
 * warm up, two were measured while they compiled.
 */
const WARM_UPS = 6;
/** Each first as often as last: the speed of a machine changes within a minute. */
const TURNS = [1, 2, 2, 1] as const;

/** Seconds of processor time per request. */
interface Costs {
  readonly service: number;
  readonly postgres: number;
  readonly load: number;
}

interface Turn extends Rate {
  /** Null where nobody can say: the generator is ours, and runs on. */
  readonly costs: Costs | null;
}

/**
 * Single creates over HTTP with one process and with two behind one port, in turns on one database. The load generator
 * and PostgreSQL need processor time as well: what is measured is what a second process adds to the whole machine, not
 * to itself. So the generator must take as little as possible, and is wrk where there is one.
 *
 * What each part costs per request gives a model of machines with more cores (docs/processes.md), which is held against
 * what was measured here.
 */
export const processes = perRound(async (scope) => {
  const { results } = scope.bench;
  const database = await scope.database('millrace');
  const hasWrk = await isThere('wrk', say);
  if (!hasWrk)
    results.note('wrk is not installed, and this user cannot install it: creates come from our own generator');
  const measured = new Map<number, Turn[]>(COUNTS.map((count) => [count, []]));
  for (const count of TURNS) measured.get(count)?.push(await measure(scope, database, count, hasWrk));
  for (const [count, turns] of measured) {
    results.record(`processes.${count}`, mean(turns.map(({ perSecond }) => perSecond)));
    results.record(`processes-p50.${count}`, mean(turns.map(({ p50 }) => p50)));
    results.record(`processes-p99.${count}`, mean(turns.map(({ p99 }) => p99)));
    const costs = meanCosts(turns);
    if (costs !== null) recordModel(results, count, costs);
  }
});

function recordModel(results: Results, count: number, costs: Costs): void {
  for (const part of ['service', 'postgres', 'load'] as const)
    results.record(`processes-cpu.${part}.${count}`, costs[part] * 1e6);
  results.record(`processes-model.${count}`, modelled(count, availableParallelism(), costs));
  // With the costs of two: more processes gather smaller batches, so each request costs more.
  if (count !== Math.max(...COUNTS)) return;
  for (const cores of MODELLED_CORES) results.record(`processes-model.cores.${cores}`, rateOn(cores, costs));
}

/** How many cores a machine may have for the service and PostgreSQL, with the callers elsewhere. */
export const MODELLED_CORES = [4, 8, 16] as const;

/** No process takes more than a core, and nothing takes more than the machine has. */
const modelled = (processes: number, cores: number, { service, postgres, load }: Costs): number =>
  Math.min(processes / service, cores / (service + postgres + load));

/** With as many processes as keep all cores busy. */
const rateOn = (cores: number, { service, postgres }: Costs): number => cores / (service + postgres);

async function measure(scope: Scope, database: BenchDatabase, count: number, hasWrk: boolean): Promise<Turn> {
  const { bench } = scope;
  const { windowMs, warmupMs } = bench.scale;
  const server = await scope.millrace(database, 'api', count);
  try {
    if (!hasWrk) {
      const target = { port: server.port, connections: CONNECTIONS, what: 'single' } as const;
      const rate = await scope.load().call('rate', { ...target, windowMs, warmupMs: WARM_UPS * warmupMs });
      return { ...rate, costs: null };
    }
    await createWithWrk(server.port, CONNECTIONS, WARM_UPS * warmupMs);
    const used = (): Costs => ({
      service: treeCpuSeconds(server.pid),
      postgres: treeCpuSeconds(bench.postgres.pid),
      load: endedChildrenCpuSeconds(),
    });
    const before = used();
    const rate = await createWithWrk(server.port, CONNECTIONS, windowMs);
    const after = used();
    const requests = rate.perSecond * wrkSeconds(windowMs);
    const perRequest = (part: keyof Costs): number => (after[part] - before[part]) / requests;
    const costs = { service: perRequest('service'), postgres: perRequest('postgres'), load: perRequest('load') };
    return { ...rate, costs };
  } finally {
    await server.stop();
  }
}

const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;

function meanCosts(turns: readonly Turn[]): Costs | null {
  const all = turns.flatMap(({ costs }) => (costs === null ? [] : [costs]));
  if (all.length < turns.length || all.some(({ service }) => !Number.isFinite(service))) return null;
  const of = (part: keyof Costs): number => mean(all.map((costs) => costs[part]));
  return { service: of('service'), postgres: of('postgres'), load: of('load') };
}
