import { Scope, scoped, type Bench, type Case } from '../bench.js';
import type { Child } from '../env/child.js';
import type { BenchDatabase } from '../env/postgres.js';
import type { LoadMethods } from '../load/process.js';
import { drain, preload } from './drains.js';
import { FinishedJobs } from './finished-jobs.js';

export const FILTERS = {
  all: '',
  completed: 'status=completed',
  failed: 'status=failed',
  queue: 'queue=mail',
  'completed-queue': 'status=completed&queue=mail',
} as const;

/** Matches only the oldest jobs of all: the first page is behind everything else. */
export const RARE = 'status=completed&queue=rare';
const RARE_TIMES = 3;

/** The share of the list, newest first, that comes before the page. */
export const DEPTHS = { first: null, middle: 0.5, end: 0.95 } as const;

export const SIZES = ['some', 'many'] as const;
type Size = (typeof SIZES)[number];

/** Lists, pages by cursor, and drains in a database full of finished jobs. */
export const history: Case = async (bench) => {
  const scope = new Scope(bench);
  const database = await scope.database('millrace');
  const { historySome, historyMany } = bench.scale.jobs;
  const finished = new FinishedJobs(database, historyMany);
  await finished.growTo(historySome);
  await bench.postgres.settle(database);
  for (let n = 0; n < bench.scale.heavyRounds; n++) await measurePages(bench, database, finished, 'some');
  await finished.growTo(historyMany);
  await bench.postgres.settle(database);
  return {
    round: async () => {
      await measurePages(bench, database, finished, 'many');
      await measureDrain(bench, null);
      await measureDrain(bench, database);
    },
    close: () => scope.close(),
  };
};

function measurePages(bench: Bench, database: BenchDatabase, finished: FinishedJobs, size: Size): Promise<void> {
  return scoped(bench, async (scope) => {
    const { port } = await scope.millrace(database, 'api');
    const load = scope.load();
    let worst = 0;
    for (const [name, filter] of Object.entries(FILTERS)) {
      const before = Object.values(DEPTHS).map((share) => (share === null ? null : finished.instantAt(1 - share)));
      const ms = await load.call('pages', { port, filter, before, times: bench.scale.pages });
      Object.keys(DEPTHS).forEach((depth, n) => bench.results.record(`page.${size}.${name}.${depth}`, ms[n] ?? NaN));
      worst = Math.max(worst, Math.max(...ms) / (ms[0] ?? NaN));
    }
    bench.results.record(`page-depth.${size}`, worst);
    await measureRare(bench, load, port, size);
  });
}

/** It may take longer than the service's statement timeout; that is a result too. */
async function measureRare(bench: Bench, load: Child<LoadMethods>, port: number, size: Size): Promise<void> {
  try {
    const [ms = NaN] = await load.call('pages', { port, filter: RARE, before: [null], times: RARE_TIMES });
    bench.results.record(`page.${size}.rare.first`, ms);
  } catch (error) {
    bench.results.note(`the first page of ${RARE} failed: ${String(error)}`);
  }
}

/** `full` is the database with the history; null measures in one without. */
function measureDrain(bench: Bench, full: BenchDatabase | null): Promise<void> {
  return scoped(bench, async (scope) => {
    const database = full ?? (await scope.database('millrace'));
    const jobs = bench.scale.jobs.history;
    await preload(scope, database, jobs);
    const report = await drain(scope, database, jobs);
    bench.results.record(full ? 'history.many' : 'history.empty', report.perSecond);
  });
}
