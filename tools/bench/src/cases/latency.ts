import { monotonicMicros } from '@millrace/tools-shared';
import { perRound } from '../bench.js';
import type { EmbeddingMethods } from '../servers/embedding.js';

const CONNECTIONS = 64;

/**
 * From the moment a client sends its POST to the moment the handler starts, in an otherwise idle server and in one at
 * half its capacity. The capacity, which is the highest rate at which it accepts and runs single jobs, is measured in
 * between.
 */
export const latency = perRound(async (scope) => {
  const { scale, results } = scope.bench;
  const database = await scope.database('millrace');
  const embedding = scope.child<EmbeddingMethods>('servers/embedding.js');
  const port = await embedding.call('start', { url: database.url });
  const load = scope.load();
  const warm = Math.ceil(scale.latencySamples / 5);
  await load.call('stampSparsely', { port, count: warm });
  await embedding.call('completed', { jobs: warm });
  await embedding.call('delays');

  await load.call('stampSparsely', { port, count: scale.latencySamples });
  await embedding.call('completed', { jobs: warm + scale.latencySamples });
  const idle = await embedding.call('delays');
  results.record('latency-p50.idle', idle.p50);
  results.record('latency-p99.idle', idle.p99);

  const before = warm + scale.latencySamples;
  const count = Math.max(2_000, scale.latencySamples * 20);
  const startedAt = monotonicMicros();
  await load.call('count', { port, connections: CONNECTIONS, what: 'stamped', count });
  const endedAt = await embedding.call('completed', { jobs: before + count });
  const capacity = (count / (endedAt - startedAt)) * 1e6;
  await embedding.call('delays');

  const pace = { connections: CONNECTIONS, perSecond: capacity / 2, durationMs: scale.windowMs };
  const sent = await load.call('stampAtRate', { port, ...pace });
  await embedding.call('completed', { jobs: before + count + sent });
  const half = await embedding.call('delays');
  results.record('latency.capacity', capacity);
  results.record('latency-p50.half', half.p50);
  results.record('latency-p99.half', half.p99);
});
