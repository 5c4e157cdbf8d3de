import type { Fault } from '../fault.js';
import { QUICK } from '../stage/actors.js';
import type { Cluster } from '../stage/cluster.js';
import type { Database } from '../stage/database.js';
import type { ServerProcess } from '../stage/server.js';
import type { Stage } from '../stage/stage.js';

/** Tables that every path of a job writes to. */
const TABLES = ['jobs', 'ready', 'leases', 'done', 'workflow_runs'];
const RECOVERED_WITHIN_MS = 5_000;

interface Trouble {
  readonly begin: string;
  readonly end: string;
  /** Nobody may notice; otherwise a 503 is fair while it lasts. */
  readonly hidden: boolean;
}

/** A share of the statements that write fails with this SQLSTATE. What is rolled back leaves no trace, as a deadlock does. */
const failing = (code: string, share: number, hidden: boolean): Trouble => ({
  begin: `UPDATE chaos.trouble SET code = '${code}', share = ${share}`,
  end: 'UPDATE chaos.trouble SET share = 0',
  hidden,
});

const TROUBLES: readonly Trouble[] = [
  failing('40P01', 0.15, true),
  failing('40001', 0.15, true),
  // A disk that is full, then one that is full for some.
  failing('53100', 1, false),
  failing('53100', 0.3, false),
  // A database that was made read-only, as in a failover: sessions that are open find out with their next statement.
  {
    begin: 'ALTER SYSTEM SET default_transaction_read_only = on',
    end: 'ALTER SYSTEM SET default_transaction_read_only = off',
    hidden: false,
  },
];

/** The database works and does not: statements collide, the disk is full, nothing may be written. */
export const collisions: Fault = {
  row: 23,
  name: 'deadlocks and serialization failures injected; a read-only or full disk',
  check: 'retried, or a clean 503; recovery in 5 s',
  unit: 'troubles',
  full: 200,
  everyday: 5,
  async run(stage, count) {
    const cluster = await stage.cluster();
    const database = await stage.database({ on: cluster });
    await installTrouble(database);
    const servers = [await stage.server({ database }), await stage.server({ database, mode: 'api' })];
    const urls = servers.map(({ url }) => url);
    const producers = [
      stage.producer({ urls, pauseMs: 15 }),
      stage.producer({ urls, pauseMs: 200, batch: 10 }),
      stage.producer({ urls, pauseMs: 10, queue: 'default', task: 'echo' }),
    ];
    const workers = [1, 2].map(() => stage.worker({ urls, leaseSecs: 5, maxJobs: 10 }));
    for (let n = 0; n < count; n++) {
      const trouble = TROUBLES[n % TROUBLES.length]!;
      await stage.sleep(stage.random.between(100, 300));
      if (trouble.hidden) await during(stage, cluster, database, trouble);
      else await stage.outage(() => during(stage, cluster, database, trouble, servers));
    }
    await Promise.all(producers.map((producer) => producer.terminate()));
    await stage.drained(database, 120_000);
    await Promise.all(workers.map((worker) => worker.terminate()));
  },
};

async function installTrouble(database: Database): Promise<void> {
  await database.query(`
    CREATE SCHEMA chaos;
    CREATE TABLE chaos.trouble (code text NOT NULL, share float8 NOT NULL);
    INSERT INTO chaos.trouble VALUES ('40001', 0);
    CREATE FUNCTION chaos.strike() RETURNS trigger LANGUAGE plpgsql AS $$
      DECLARE trouble chaos.trouble;
      BEGIN
        SELECT * INTO trouble FROM chaos.trouble;
        IF random() < trouble.share THEN RAISE EXCEPTION 'injected' USING ERRCODE = trouble.code; END IF;
        RETURN NULL;
      END $$;
    ${TABLES.map(
      (table) => `CREATE TRIGGER strike AFTER INSERT OR UPDATE OR DELETE ON millrace.${table}
        FOR EACH STATEMENT EXECUTE FUNCTION chaos.strike();`,
    ).join('\n')}`);
}

async function during(
  stage: Stage,
  cluster: Cluster,
  database: Database,
  { begin, end }: Trouble,
  servers: readonly ServerProcess[] = [],
): Promise<void> {
  const on = begin.startsWith('ALTER SYSTEM') ? cluster : database;
  const apply = async (text: string): Promise<void> => {
    await on.query(text);
    if (on === cluster) await cluster.query('SELECT pg_reload_conf()');
  };
  await apply(begin);
  await stage.sleep(stage.random.between(300, 1_000));
  await apply(end);
  const endedAt = performance.now();
  await Promise.all(
    servers.map((server) => {
      const probe = stage.client(server);
      return stage.until(async () => (await probe.create('echo', { config: QUICK })).status === 201);
    }),
  );
  const tookMs = performance.now() - endedAt;
  stage.expect(tookMs <= RECOVERED_WITHIN_MS, `recovered only after ${Math.round(tookMs)} ms`);
}
