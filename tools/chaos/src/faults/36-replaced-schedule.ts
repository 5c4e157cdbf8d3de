import type { Fault } from '../fault.js';
import type { ChaosClient } from '../history/client.js';
import { QUICK } from '../stage/actors.js';
import type { Database } from '../stage/database.js';
import type { Stage } from '../stage/stage.js';
import { doubleFirings } from '../support/schedules.js';

/** Seconds between occurrences. Every occurrence of the second is one of the first too, but another one follows it. */
const PERIODS = { dense: 1, sparse: 3 } as const;

interface Acknowledged {
  readonly version: number;
  /** The database's time after the answer, in seconds since 1970. */
  readonly at: number;
}

interface FiredJob {
  readonly version: number;
  readonly period: number;
  readonly occurrence: number;
  readonly createdAt: number;
}

/**
 * A dense schedule is replaced by a sparse one just before an occurrence that both have, while schedulers that have
 * planned it are stopped; when they wake up it is due, and their plan says that the dense one goes on a second later.
 * Jobs say which version they are of: none may appear at an occurrence that its own expression does not have, and none
 * of an older version once its replacement was acknowledged.
 */
export const replacedSchedule: Fault = {
  row: 36,
  name: 'a schedule replaced while a firing of the old one is planned',
  check: 'nothing fires by the old expression',
  unit: 'replacements',
  full: 2_000,
  everyday: 8,
  async run(stage, count) {
    const database = await stage.database();
    const client = stage.client(await stage.server({ database, mode: 'api' }));
    const args = ['--max-db-connections=4', '--workers=2'];
    const schedulers = [
      await stage.server({ database, mode: 'worker', args }),
      await stage.server({ database, mode: 'worker', args }),
    ];
    const acknowledged: Acknowledged[] = [];
    const put = async (version: number, period: number): Promise<void> => {
      await replace(stage, client, version, period);
      acknowledged.push({ version, at: await databaseTime(database) });
    };
    for (let version = 1; version <= count; version += 2) {
      await stage.sleep(stage.random.between(0, 500));
      await put(version, PERIODS.dense);
      const shared = nextShared();
      await sleepUntil(stage, shared - stage.random.between(50, 250));
      const stopped = stage.random.chance(0.7) ? schedulers : [stage.random.pick(schedulers)];
      for (const { process } of stopped) process.pause();
      await put(version + 1, PERIODS.sparse);
      await sleepUntil(stage, shared + stage.random.between(5, 150));
      for (const { process } of stopped) process.resume();
      // Long enough for what a wrong plan would lead to.
      await sleepUntil(stage, shared + 1_700);
    }
    await database.query('UPDATE millrace.crons SET enabled = false');
    await judge(stage, database, acknowledged);
    await database.expirePoolLeases();
    await stage.drained(database);
  },
};

/** The next occurrence of both, far enough away that it can be planned. In milliseconds since 1970. */
function nextShared(): number {
  const period = PERIODS.sparse * 1_000;
  return Math.ceil((Date.now() + 500) / period) * period;
}

async function sleepUntil(stage: Stage, at: number): Promise<void> {
  await stage.sleep(Math.max(0, at - Date.now()));
}

async function replace(stage: Stage, client: ChaosClient, version: number, period: number): Promise<void> {
  const body = { cron_expr: `*/${period} * * * * *`, task_name: 'echo', payload: { version, period }, config: QUICK };
  const { status } = await client.send('other', 'PUT', '/api/v1/cron/replaced', { body });
  const expected = version === 1 ? 201 : 200;
  stage.expect(status === expected, `replacement ${version} was answered ${status ?? 'nothing'}`);
}

async function databaseTime(database: Database): Promise<number> {
  const [row] = await database.query<{ at: number }>('SELECT extract(epoch FROM clock_timestamp())::float8 AS at');
  return row?.at ?? 0;
}

async function judge(stage: Stage, database: Database, acknowledged: readonly Acknowledged[]): Promise<void> {
  const jobs = await database.query<FiredJob>(`
    SELECT (payload ->> 'version')::int AS version, (payload ->> 'period')::int AS period,
           extract(epoch FROM right(idempotency_key, 20)::timestamptz)::int AS occurrence,
           extract(epoch FROM created_at)::float8 AS "createdAt"
    FROM millrace.jobs WHERE idempotency_key LIKE 'millrace:cron:%'`);
  for (const { version, period, occurrence, createdAt } of jobs) {
    const at = new Date(occurrence * 1000).toISOString();
    stage.expect(occurrence % period === 0, `version ${version}, every ${period} s, fired for ${at}`);
    const newest = acknowledged.findLast((known) => known.at <= createdAt)?.version ?? 0;
    stage.expect(version >= newest, `version ${version} fired for ${at} although version ${newest} had replaced it`);
  }
  for (const twice of await doubleFirings(database)) stage.violation(twice);
  stage.expect(jobs.length > 0, 'nothing fired at all');
  stage.note(`${jobs.length} firings of ${new Set(jobs.map(({ version }) => version)).size} versions`);
}
