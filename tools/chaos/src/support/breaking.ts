import type { Cluster } from '../stage/cluster.js';
import type { Database } from '../stage/database.js';
import type { ManagedProcess } from '../stage/processes.js';
import type { ServerProcess } from '../stage/server.js';
import type { Stage } from '../stage/stage.js';

/** Two servers on a PostgreSQL of their own, and workers, all of which may be killed. */
export interface Breakable {
  readonly stage: Stage;
  readonly cluster: Cluster;
  readonly database: Database;
  readonly servers: readonly ServerProcess[];
  /** All that were ever started. */
  readonly workers: ManagedProcess[];
  startWorker(): void;
  readonly going: () => boolean;
  /** Called after each thing that was broken. */
  onBroken?(): void;
}

/** A span of the database's clock, which is that of this machine. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/**
 * Kills workers, servers and PostgreSQL, and terminates connections, one after the other for as long as it goes.
 * Resolves to the times at which PostgreSQL was away.
 */
export async function breakThings(breakable: Breakable): Promise<readonly Span[]> {
  const { stage, cluster, database, servers, workers, going } = breakable;
  const broken = { workers: 0, servers: 0, connections: 0, postgres: 0 };
  const away: Span[] = [];
  while (going()) {
    await stage.sleep(stage.random.between(100, 700));
    const alive = workers.filter(({ isAlive }) => isAlive);
    // Where no worker is a process, the others have their turns.
    const choice = stage.random.integer(alive.length > 0 ? 0 : 4, 9);
    if (choice < 4) {
      await stage.random.pick(alive).kill();
      breakable.startWorker();
      broken.workers++;
    } else if (choice < 6) {
      const victim = stage.random.pick(servers);
      await victim.process.kill();
      await victim.start();
      broken.servers++;
    } else if (choice < 9) {
      await database.terminateBackends(`application_name <> 'chaos'`, stage.random.integer(1, 3));
      broken.connections++;
    } else {
      const from = Date.now();
      await cluster.stop('immediate');
      await cluster.start();
      away.push({ from, to: Date.now() });
      broken.postgres++;
    }
    breakable.onBroken?.();
  }
  stage.note(`killed: ${JSON.stringify(broken)}`);
  return away;
}
