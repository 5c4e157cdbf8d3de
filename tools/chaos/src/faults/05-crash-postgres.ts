import type { Fault } from '../fault.js';
import { QUICK } from '../stage/actors.js';

const RECOVERED_WITHIN_MS = 5_000;

/** PostgreSQL is stopped as a crash stops it, under servers that are at work, and started again a moment later. */
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
        const backAt = performance.now();
        const probes = servers.map((server) => stage.client(server));
        await Promise.all(
          probes.map((probe) =>
            stage.until(async () => (await probe.create('echo', { config: QUICK })).status === 201, {
              withinMs: 30_000,
            }),
          ),
        );
        return performance.now() - backAt;
      });
      stage.expectWithin(RECOVERED_WITHIN_MS, recoveredMs, `crash ${crash}: recovered`);
    }
    await Promise.all(producers.map((producer) => producer.terminate()));
    await stage.drained(database, 90_000);
    await Promise.all(workers.map((worker) => worker.terminate()));
  },
};
