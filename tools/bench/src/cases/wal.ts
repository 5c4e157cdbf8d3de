import { scoped, type Bench, type Case } from '../bench.js';
import type { EmbeddingMethods } from '../servers/embedding.js';
import { BATCH, CALLS_IN_FLIGHT } from '../work.js';

const CONNECTIONS = 64;

/**
 * Bytes of write-ahead log over the whole life of a job: created, claimed, completed with a small result. A checkpoint
 * comes first and none in between; full-page images are counted separately, because they depend on checkpoints and not
 * on jobs.
 */
export const wal: Case = async (bench) => ({
  round: async () => {
    await life(bench, 'batch');
    await life(bench, 'single');
  },
});

function life(bench: Bench, what: 'batch' | 'single'): Promise<void> {
  return scoped(bench, async (scope) => {
    const jobs = bench.scale.jobs.wal;
    const database = await scope.database('millrace');
    const server = await scope.millrace(database, 'api');
    const load = scope.load();
    await bench.postgres.settle(database);
    const start = await bench.postgres.walPosition();
    const [connections, count] = what === 'batch' ? [CALLS_IN_FLIGHT, jobs / BATCH] : [CONNECTIONS, jobs];
    await load.call('count', { port: server.port, connections, what, count });
    await server.stop();
    const embedding = scope.child<EmbeddingMethods>('servers/embedding.js');
    await embedding.call('drain', { url: database.url, jobs });
    const { bytes, fullPageBytes } = await bench.postgres.walSince(start);
    bench.results.record(`wal.${what}`, (bytes - fullPageBytes) / jobs);
    bench.results.record(`wal-images.${what}`, fullPageBytes / jobs);
  });
}
