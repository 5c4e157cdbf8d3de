import type { Fault } from '../fault.js';
import { startApplication } from '../support/outbox.js';

/**
 * The relay of an outbox, the service, the service's PostgreSQL and the application's are killed in turn while
 * transactions commit and roll back.
 */
export const outboxKills: Fault = {
  row: 42,
  name: 'kill -9 the relay of an outbox, the service, either PostgreSQL',
  check: 'one job per committed order, none for one that was rolled back',
  unit: 'kills',
  full: 200,
  everyday: 4,
  async run(stage, count) {
    const [ours, theirs] = [await stage.cluster(), await stage.cluster()];
    const database = await stage.database({ on: ours });
    const server = await stage.server({ database, mode: 'api' });
    const application = await startApplication(stage, theirs);
    try {
      const relay = application.relay(server.url);
      const victims = [
        () => relay.killAndRestart(),
        () => server.crashAndRestart(),
        () => ours.crashAndRestart(stage.random.between(0, 500)),
        () => theirs.crashAndRestart(stage.random.between(0, 500)),
      ];
      for (let kill = 0; kill < count; kill++) {
        await stage.sleep(stage.random.between(300, 1_500));
        await victims[kill % victims.length]!();
      }
      await stage.sleep(500);
      await application.stopWriting();
      await application.settle(database);
    } finally {
      await application.close();
    }
  },
};
