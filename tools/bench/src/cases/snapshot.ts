import { scoped, type Bench, type Case } from '../bench.js';
import { flatness } from '../progress.js';
import { drain, preload } from './drains.js';

/**
 * A drain while another session holds a transaction open: none of the rows that leave the queue can be vacuumed before
 * it ends. A queue that has to step over them gets slower with every job; the curve shows whether this one does.
 */
export const snapshot: Case = async (bench) => ({
  round: async () => {
    await measure(bench, 'clean');
    await measure(bench, 'held');
  },
});

function measure(bench: Bench, key: 'clean' | 'held'): Promise<void> {
  return scoped(bench, async (scope) => {
    const jobs = bench.scale.jobs.snapshot;
    const database = await scope.database('millrace');
    await preload(scope, database, jobs);
    if (key === 'held') {
      const holder = await database.connect();
      scope.onClose(() => holder.end());
      await holder.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
      await holder.query('SELECT pg_current_xact_id()');
    }
    const report = await drain(scope, database, jobs);
    bench.results.record(`snapshot.${key}`, report.perSecond);
    bench.results.record(`snapshot-flatness.${key}`, flatness(report.curve));
    bench.results.curve(`snapshot.${key}`, report.curve);
  });
}
