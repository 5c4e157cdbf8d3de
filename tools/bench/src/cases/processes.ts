import { perRound } from '../bench.js';

export const COUNTS = [1, 2] as const;
const CONNECTIONS = 64;

/**
 * Single creates over HTTP with one process and with two behind one port, one right after the other on one database.
 * The load generator and PostgreSQL need processor time as well: what is measured is what a second process adds to the
 * whole machine, not to itself.
 */
export const processes = perRound(async (scope) => {
  const { bench } = scope;
  const { windowMs, warmupMs } = bench.scale;
  const database = await scope.database('millrace');
  const load = scope.load();
  for (const count of COUNTS) {
    const server = await scope.millrace(database, 'api', count);
    const target = { port: server.port, connections: CONNECTIONS, what: 'single' } as const;
    const { perSecond, p50, p99 } = await load.call('rate', { ...target, windowMs, warmupMs });
    bench.results.record(`processes.${count}`, perSecond);
    bench.results.record(`processes-p50.${count}`, p50);
    bench.results.record(`processes-p99.${count}`, p99);
    await server.stop();
  }
});
