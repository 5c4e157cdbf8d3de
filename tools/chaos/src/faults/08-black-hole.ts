import type { Fault } from '../fault.js';
import type { ChaosClient } from '../history/client.js';
import { QUICK } from '../stage/actors.js';
import type { Stage } from '../stage/stage.js';
import { jobsOn } from '../support/jobs.js';

/** A statement may take ten seconds, a connection five; a request may need one of each. */
const ANSWERED_WITHIN_MS = 16_000;
/** Every connection of the pool may have to time out first. */
const HEALED_WITHIN_MS = 20_000;

/**
 * The network between a server and its database swallows everything: no answer, no refusal, no end of the connection.
 * When it works again, the old connections stay half open and dead; only new ones work.
 */
export const blackHole: Fault = {
  row: 8,
  name: 'TCP to the database black-holed, half open',
  check: 'statements time out, the pool heals',
  unit: 'black holes',
  full: 100,
  everyday: 1,
  async run(stage, count) {
    const database = await stage.database();
    const proxy = await stage.proxy(database);
    const server = await stage.server({ database, databaseUrl: proxy.url });
    const client = stage.client(server);
    const worker = stage.worker({ urls: [server.url], leaseSecs: 60 });
    for (let hole = 1; hole <= count; hole++) {
      await client.batch(jobsOn('remote', 50));
      await stage.sleep(stage.random.between(0, 100));
      await stage.outage(async () => {
        proxy.freeze();
        await bounded(stage, client);
        await proxy.restore();
        const restoredAt = performance.now();
        await stage.until(() => healthy(client), { what: 'the pool to heal' });
        stage.expectWithin(HEALED_WITHIN_MS, performance.now() - restoredAt, `black hole ${hole}: healed`);
      });
    }
    await database.expirePoolLeases();
    await stage.drained(database);
    await worker.terminate();
  },
};

/** Nobody is left hanging: calls fail in time with 503, and the process still reports that it is alive. */
async function bounded(stage: Stage, client: ChaosClient): Promise<void> {
  const calls = [
    client.create('echo', { config: QUICK }),
    client.lease('nothing-here', { wait: 0 }).then(() => null),
    client.send('other', 'GET', '/api/v1/jobs?limit=1'),
  ];
  const health = await client.send('other', 'GET', '/health');
  stage.expect(health.status === 200, `/health answered ${health.status ?? 'nothing'} during the black hole`);
  stage.expectWithin(500, health.ms, '/health answered');
  for (const reply of await Promise.all(calls)) {
    if (reply === null) continue;
    stage.expect(reply.status === 503, `a call into the black hole was answered ${reply.status ?? 'not at all'}`);
    stage.expectWithin(ANSWERED_WITHIN_MS, reply.ms, 'a call into the black hole was answered');
  }
}

/** Several calls at once succeed: the whole pool works, not just one lucky connection. */
async function healthy(client: ChaosClient): Promise<boolean> {
  const replies = await Promise.all(Array.from({ length: 8 }, () => client.create('echo', { config: QUICK })));
  return replies.every(({ status }) => status === 201);
}
