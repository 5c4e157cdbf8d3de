import { mkdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Fault } from '../fault.js';
import { QUICK } from '../stage/actors.js';
import { Database } from '../stage/database.js';
import type { ManagedProcess } from '../stage/processes.js';
import type { ServerProcess } from '../stage/server.js';
import type { Stage } from '../stage/stage.js';
import { startRelay, type Relay } from './26-relay.js';
import { Replica } from './26-replica.js';

const BACK_WITHIN_MS = 10_000;

/** The primary is lost with all its processes under load; its synchronous standby takes over, behind the same address. */
export const failover: Fault = {
  row: 26,
  name: 'primary lost, synchronous standby promoted',
  check: 'nothing acknowledged is lost, service back in 10 s',
  unit: 'failovers',
  full: 20,
  everyday: 1,
  alone: true,
  unavailable: () => (process.platform === 'linux' ? null : 'it finds the processes of PostgreSQL in /proc'),
  async run(stage, count) {
    const cluster = await stage.cluster({ wal_keep_size: '1GB' });
    const home = join(dirname(cluster.launch.dataDir), 'standbys');
    mkdirSync(home);
    const { name, url } = await cluster.createDatabase();
    const pair = new Pair(await Replica.adopt(cluster.launch));
    const relay = await startRelay(pair.primary.socketPath);
    const database = new FailoverDatabase(name, throughRelay(url, relay), pair, relay);
    stage.databases.push(database);
    const servers = [await stage.server({ database }), await stage.server({ database, mode: 'api' })];
    const { producers, workers } = load(stage, servers);
    for (let n = 1; n <= count; n++) {
      await pair.addStandby(join(home, `standby-${n}`));
      await stage.sleep(stage.random.between(300, 1_500));
      const backMs = await stage.outage(() => failOver(stage, pair, relay, servers));
      stage.expect(backMs <= BACK_WITHIN_MS, `failover ${n}: back only after ${Math.round(backMs)} ms`);
    }
    await Promise.all(producers.map((producer) => producer.terminate()));
    await database.expirePoolLeases();
    await stage.drained(database, 120_000);
    await Promise.all(workers.map((worker) => worker.terminate()));
  },
};

/** The one that serves and the one that follows it. */
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

/** Lives on whichever server is the primary; when it is dropped, so are they. */
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

function load(stage: Stage, servers: readonly ServerProcess[]): Record<'producers' | 'workers', ManagedProcess[]> {
  const urls = servers.map(({ url }) => url);
  return {
    producers: [
      stage.producer({ urls, pauseMs: 15 }),
      stage.producer({ urls, pauseMs: 200, batch: 10 }),
      stage.producer({ urls, pauseMs: 10, queue: 'default', task: 'echo' }),
    ],
    workers: [1, 2].map(() => stage.worker({ urls, leaseSecs: 5, maxJobs: 10 })),
  };
}

/** Resolves to how long nobody could create a job, on the slower server. */
async function failOver(stage: Stage, pair: Pair, relay: Relay, servers: readonly ServerProcess[]): Promise<number> {
  const lostAt = performance.now();
  await pair.loseThePrimary();
  relay.pointTo(pair.primary.socketPath);
  await Promise.all(
    servers.map((server) => {
      const probe = stage.client(server);
      return stage.until(async () => (await probe.create('echo', { config: QUICK })).status === 201, {
        what: 'the service to be back',
        withinMs: 60_000,
      });
    }),
  );
  return performance.now() - lostAt;
}

function throughRelay(databaseUrl: string, { port }: Relay): string {
  const { username, password, pathname } = new URL(databaseUrl);
  return `postgresql://${username}:${password}@127.0.0.1:${port}${pathname}`;
}
