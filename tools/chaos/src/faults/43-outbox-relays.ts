import type { Fault } from '../fault.js';
import { startAnswerDropper } from '../support/answer-dropper.js';
import { startApplication } from '../support/outbox.js';

const CALLS = ['/api/v1/jobs/batch', '/api/v1/jobs/batch', '/api/v1/workflows'];

/** Two relays share an outbox; answers to their calls are lost after the commit, and one of them is killed. */
export const outboxRelays: Fault = {
  row: 43,
  name: 'two relays on one outbox, answers lost after the commit, kills',
  check: 'one job or workflow per committed order, none for one that was rolled back',
  unit: 'lost answers',
  full: 200,
  everyday: 6,
  async run(stage, count) {
    const [ours, theirs] = [await stage.cluster(), await stage.cluster()];
    const database = await stage.database({ on: ours });
    const server = await stage.server({ database, mode: 'api' });
    const dropper = await startAnswerDropper(server.url);
    const application = await startApplication(stage, theirs);
    try {
      const relays = [application.relay(dropper.url), application.relay(dropper.url)];
      for (let loss = 1; loss <= count; loss++) {
        const before = dropper.dropped;
        dropper.dropAnswerTo(CALLS[loss % CALLS.length]!);
        await stage.until(() => dropper.dropped > before, { what: 'an answer to be lost' });
        if (loss % 3 === 0) await relays[loss % 2]!.killAndRestart();
      }
      await stage.sleep(500);
      await application.stopWriting();
      await application.settle(database);
    } finally {
      await application.close();
      await dropper.close();
    }
  },
};
