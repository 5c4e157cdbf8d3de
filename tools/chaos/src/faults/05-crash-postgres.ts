import type { Fault } from '../fault.js';
import { untilServing } from '../support/serving.js';

const RECOVERED_WITHIN_MS = 5_000;

/** PostgreSQL is stopped as if by a crash while servers are working, and started again a moment later. */
export const crashPostgres: Fault = {
  row: 5,
  name: 'PostgreSQL stopped in immediate mode, restarted',
  check: 'acknowledged writes survive, recovery in 5 s, no process exits',
  unit: 'crashes',
  full: 100,
  everyday: 2,
  async run(stage, count) {
    const cluster = await stage.cluster();
    const database = await stage.database({ on: cluster });
    const servers = [await stage.server({ database }), await stage.server({ database, mode: 'api' })];
    const urls = servers.map((server) => server.url);
    const producers = urls.map((url) => stage.producer({ urls: [url], pauseMs: 5 }));
    producers.push(stage.producer({ urls, queue: 'default', task: 'echo', pauseMs: 10 }));
    const workers = urls.map((url) => stage.worker({ urls: [url], leaseSecs: 5 }));
    for (let crash = 1; crash <= count; crash++) {
      await stage.sleep(stage.random.between(300, 1_500));
      const recoveredMs = await stage.outage(async () => {
        await cluster.stop('immediate');
        await stage.sleep(stage.random.between(0, 1_000));
        await cluster.start();
        return untilServing(stage, servers);
      });
      stage.expectWithin(RECOVERED_WITHIN_MS, recoveredMs, `crash ${crash}: recovered`);
    }
    await Promise.all(producers.map((producer) => producer.terminate()));
    await stage.drained(database);
    await Promise.all(workers.map((worker) => worker.terminate()));
  },
};
