import { perRound } from '../bench.js';
import { monotonicMicros } from '../load/open-loop.js';
import type { EmbeddingMethods } from '../servers/embedding.js';

/**
 * From the moment a client sends its POST to the moment the handler starts, in a server that has nothing else to do and in one at half
 * of what it can take: the highest rate at which it accepts single jobs and runs them, measured first.
 */
const CONNECTIONS = 64;

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
