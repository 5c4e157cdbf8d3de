import { perRound } from '../bench.js';

/** Three hundred event streams, one per job, while remote workers run all the jobs. */
export const events = perRound(async (scope) => {
  const { scale, results } = scope.bench;
  const database = await scope.database('millrace');
  const { port } = await scope.millrace(database, 'api');
  const load = scope.load();
  await load.call('watch', { port, streams: Math.ceil(scale.streams / 10) });
  const watched = await load.call('watch', { port, streams: scale.streams });
  results.record('events.opened', watched.openedMs);
  results.record('events.rate', watched.eventsPerSecond);
  results.record('events-p50.delivery', watched.p50);
  results.record('events-p99.delivery', watched.p99);
});
