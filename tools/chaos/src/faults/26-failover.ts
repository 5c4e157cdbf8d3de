import { mkdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { viaPort } from '@millrace/tools-shared';
import type { Fault } from '../fault.js';
import { Database } from '../stage/database.js';
import type { ServerProcess } from '../stage/server.js';
import type { Stage } from '../stage/stage.js';
import { startLoad } from '../support/load.js';
import { startRelay, type Relay } from '../support/relay.js';
import { Replica } from '../support/replica.js';
import { untilServing } from '../support/serving.js';

const BACK_WITHIN_MS = 10_000;

/** All processes of the primary are killed under load; its synchronous standby takes over behind the same address. */
export const failover: Fault = {
  row: 26,
  name: 'primary lost, synchronous standby promoted',
  check: 'nothing acknowledged is lost, service back in 10 s',
  unit: 'failovers',
  full: 20,
  everyday: 1,
  alone: true,
  unavailable: () => (process.platform === 'linux' ? null : 'it needs /proc to find the processes of PostgreSQL'),
  async run(stage, count) {
    const cluster = await stage.cluster({ wal_keep_size: '1GB' });
    const home = join(dirname(cluster.launch.dataDir), 'standbys');
    mkdirSync(home);
    const { name, url } = await cluster.createDatabase();
    const pair = new Pair(await Replica.adopt(cluster.launch));
    const relay = await startRelay(pair.primary.socketPath);
    const database = new FailoverDatabase(name, viaPort(url, relay.port), pair, relay);
    stage.databases.push(database);
    const servers = [await stage.server({ database }), await stage.server({ database, mode: 'api' })];
    const urls = servers.map((server) => server.url);
    const load = startLoad(stage, urls, { leaseSecs: 5, maxJobs: 10 });
    for (let n = 1; n <= count; n++) {
      await pair.addStandby(join(home, `standby-${n}`));
      await stage.sleep(stage.random.between(300, 1_500));
      const backMs = await stage.outage(() => failOver(stage, pair, relay, servers));
      stage.expectWithin(BACK_WITHIN_MS, backMs, `failover ${n}: back`);
    }
    await load.stopProducing();
    await database.expirePoolLeases();
    await stage.drained(database);
    await load.stopWorking();
  },
};

/** The primary and the standby that follows it. */
class Pair {
  #standby: Replica | null = null;

  constructor(public primary: Replica) {}

  async addStandby(dataDir: string): Promise<void> {
    this.#standby = await this.primary.createStandby(dataDir);
  }

  async loseThePrimary(): Promise<void> {
    const [lost, next] = [this.primary, this.#standby];
    if (next === null) throw new Error('there is no standby');
    await lost.kill();
    await next.promote();
    [this.primary, this.#standby] = [next, null];
    rmSync(lost.launch.dataDir, { recursive: true, force: true });
  }

  async dispose(): Promise<void> {
    await this.#standby?.kill();
    await this.primary.kill();
  }
}

/** Lives on whichever server is the primary; dropping it disposes of both. */
class FailoverDatabase extends Database {
  constructor(
    name: string,
    url: string,
    private readonly pair: Pair,
    private readonly relay: Relay,
  ) {
    super({ query: () => Promise.reject(new Error('the server behind this database changes')) }, name, url);
  }

  override async drop(): Promise<void> {
    await this.relay.close();
    await this.pair.dispose();
  }
}

/** Resolves to how long it took until every server could create a job again. */
async function failOver(stage: Stage, pair: Pair, relay: Relay, servers: readonly ServerProcess[]): Promise<number> {
  const lostAt = performance.now();
  await pair.loseThePrimary();
  relay.pointTo(pair.primary.socketPath);
  await untilServing(stage, servers);
  return performance.now() - lostAt;
}
