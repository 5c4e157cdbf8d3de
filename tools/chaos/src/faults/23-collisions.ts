import type { Fault } from '../fault.js';
import type { Cluster } from '../stage/cluster.js';
import type { Database } from '../stage/database.js';
import type { ServerProcess } from '../stage/server.js';
import type { Stage } from '../stage/stage.js';
import { startLoad } from '../support/load.js';
import { untilServing } from '../support/serving.js';

/** Tables that every path of a job writes to. */
const TABLES = ['jobs', 'ready', 'leases', 'done', 'workflow_runs'];
const RECOVERED_WITHIN_MS = 5_000;

interface Trouble {
  readonly begin: string;
  readonly end: string;
  /** Callers must not notice it; otherwise 503 is acceptable while it lasts. */
  readonly hidden: boolean;
}

/**
 * A share of the writing statements fails with this SQLSTATE and is rolled back without a trace, as after a deadlock.
 */
const failing = (code: string, share: number, hidden: boolean): Trouble => ({
  begin: `UPDATE chaos.trouble SET code = '${code}', share = ${share}`,
  end: 'UPDATE chaos.trouble SET share = 0',
  hidden,
});

const TROUBLES: readonly Trouble[] = [
  failing('40P01', 0.15, true),
  failing('40001', 0.15, true),
  // A disk that is full for every statement, then for some.
  failing('53100', 1, false),
  failing('53100', 0.3, false),
  // A database made read-only, as in a failover: open sessions find out with their next statement.
  {
    begin: 'ALTER SYSTEM SET default_transaction_read_only = on',
    end: 'ALTER SYSTEM SET default_transaction_read_only = off',
    hidden: false,
  },
];

/** The database is up but cannot work: statements collide, the disk is full, nothing may be written. */
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
    const load = startLoad(stage, urls, { leaseSecs: 5, maxJobs: 10 });
    for (let n = 0; n < count; n++) {
      const trouble = TROUBLES[n % TROUBLES.length]!;
      await stage.sleep(stage.random.between(100, 300));
      if (trouble.hidden) await during(stage, cluster, database, trouble);
      else await stage.outage(() => during(stage, cluster, database, trouble, servers));
    }
    await load.stopProducing();
    await stage.drained(database);
    await load.stopWorking();
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
  const tookMs = await untilServing(stage, servers);
  stage.expectWithin(RECOVERED_WITHIN_MS, tookMs, 'recovered');
}
