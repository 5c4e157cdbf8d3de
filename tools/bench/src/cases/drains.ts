import type { Scope } from '../bench.js';
import type { RawMethods } from '../contenders/raw.js';
import type { BenchDatabase } from '../env/postgres.js';
import type { DrainReport } from '../progress.js';
import type { EmbeddingMethods } from '../servers/embedding.js';

/** Puts jobs on the queue by the fastest way there is. */
export async function preload(scope: Scope, database: BenchDatabase, jobs: number): Promise<void> {
  const raw = scope.child<RawMethods>('contenders/raw.js');
  await raw.call('open', { databaseUrl: database.url });
  await raw.call('preload', jobs);
  await raw.stop();
  await scope.bench.postgres.settle(database);
}

/** Lets the service's own pool run them. */
export async function drain(scope: Scope, database: BenchDatabase, jobs: number): Promise<DrainReport> {
  const embedding = scope.child<EmbeddingMethods>('servers/embedding.js');
  return embedding.call('drain', { url: database.url, jobs });
}
