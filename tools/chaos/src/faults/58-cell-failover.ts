import { mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { viaPort } from '@millrace/tools-shared';
import type { Fault } from '../fault.js';
import { Database } from '../stage/database.js';
import { endOnCells, startCellsLoad, startOnCells, untilServed } from '../support/cells.js';
import { startRelay, type Relay } from '../support/relay.js';
import { Replica } from '../support/replica.js';

const BACK_WITHIN_MS = 15_000;

/** The primary of one of two cells is killed; its synchronous standby takes over behind the same address. */
export const cellFailover: Fault = {
  row: 58,
  name: 'primary of one cell lost, its synchronous standby promoted',
  check: 'nothing acknowledged is lost, its tenants served again in 15 s',
  unit: 'failovers',
  full: 10,
  everyday: 1,
  alone: true,
  rare: true,
  unavailable: () => (process.platform === 'linux' ? null : 'it needs /proc to find the processes of PostgreSQL'),
  async run(stage, count) {
    const cluster = await stage.cluster({ wal_keep_size: '1GB' });
    const home = join(dirname(cluster.launch.dataDir), 'standbys');
    mkdirSync(home);
    const { name, url } = await cluster.createDatabase();
    let primary = await Replica.adopt(cluster.launch);
    const relay = await startRelay(primary.socketPath);
    const moving = new MovingDatabase(name, viaPort(url, relay.port), relay, () => primary);
    const databases = [moving, await stage.database()];
    stage.databases.push(moving);
    const { tenants, servers, urls } = await startOnCells(stage, databases);
    const load = startCellsLoad(stage, urls, tenants);
    for (let n = 1; n <= count; n++) {
      const standby = await primary.createStandby(join(home, `standby-${n}`));
      await stage.sleep(stage.random.between(300, 1_500));
      const backMs = await stage.outage(async () => {
        await primary.kill();
        await standby.promote();
        primary = standby;
        relay.pointTo(standby.socketPath);
        return untilServed(stage, servers, tenants);
      });
      stage.expectWithin(BACK_WITHIN_MS, backMs, `failover ${n}: served again`);
    }
    await endOnCells(stage, databases, load);
  },
};

/** Lives on whichever server is the primary; dropping it disposes of that. */
class MovingDatabase extends Database {
  constructor(
    name: string,
    url: string,
    private readonly relay: Relay,
    private readonly primary: () => Replica,
  ) {
    super({ query: () => Promise.reject(new Error('the server behind this database changes')) }, name, url);
  }

  override async drop(): Promise<void> {
    await this.relay.close();
    await this.primary().kill();
  }
}
