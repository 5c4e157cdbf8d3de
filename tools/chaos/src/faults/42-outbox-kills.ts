import type { Fault } from '../fault.js';
import { startApplication } from '../support/outbox.js';

/**
 * The relay of an outbox, the service, the service's PostgreSQL and the application's are killed in turn while
 * transactions commit and roll back.
 */
export const outboxKills: Fault = {
  row: 42,
  name: 'kill -9 the relay of an outbox, the service, either PostgreSQL',
  check: 'one job or workflow per committed order, none for one that was rolled back',
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
        // A relay that is only starting has nothing to lose.
        await application.relaying(database);
        await stage.sleep(stage.random.between(0, 1_000));
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
