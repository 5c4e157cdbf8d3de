import type { Fault } from '../fault.js';
import { untilServing } from '../support/serving.js';

/** A server under load from producers and remote workers is killed again and again, and comes back on the same port. */
export const killServer: Fault = {
  row: 1,
  name: 'kill -9 a server at a random instant under load',
  check: 'serving again in 2 s',
  unit: 'kills',
  full: 300,
  everyday: 3,
  alone: true,
  async run(stage, count) {
    const database = await stage.database();
    const server = await stage.server({ database });
    const urls = [server.url];
    const producers = [
      stage.producer({ urls, queue: 'remote', pauseMs: 10 }),
      stage.producer({ urls, queue: 'remote', pauseMs: 20, batch: 10 }),
      stage.producer({ urls, queue: 'default', task: 'echo', pauseMs: 10 }),
    ];
    const workers = [1, 2].map(() => stage.worker({ urls, leaseSecs: 2, failRate: 0.05 }));
    for (let kill = 1; kill <= count; kill++) {
      await stage.sleep(stage.random.between(100, 1_000));
      await server.process.kill();
      const downAt = performance.now();
      await server.start();
      await untilServing(stage, [server]);
      stage.expectWithin(2_000, performance.now() - downAt, `kill ${kill}: serving again`);
    }
    await Promise.all(producers.map((producer) => producer.terminate()));
    await database.expirePoolLeases();
    await stage.drained(database);
    await Promise.all(workers.map((worker) => worker.terminate()));
  },
};
