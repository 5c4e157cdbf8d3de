import type { Fault } from '../fault.js';
import type { ChaosClient } from '../history/client.js';
import { QUICK } from '../stage/actors.js';
import type { Database } from '../stage/database.js';
import type { ServerProcess } from '../stage/server.js';
import type { Stage } from '../stage/stage.js';
import { doubleFirings } from '../support/schedules.js';

/** Every second expression is due whenever the sparse one is, but goes on differently from there. */
const PERIODS = [1, 3] as const;

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
 * A schedule is replaced around the full second, when schedulers have planned its next firing and one of them may be
 * stopped in between. Jobs say which version they are of: none may appear at an occurrence that its own expression does
 * not have, and none of an older version once its replacement was acknowledged.
 */
export const replacedSchedule: Fault = {
  row: 36,
  name: 'a schedule replaced while a firing of the old one is planned',
  check: 'nothing fires by the old expression',
  unit: 'replacements',
  full: 3_600,
  everyday: 12,
  async run(stage, count) {
    const database = await stage.database();
    const args = ['--max-db-connections=4', '--workers=2'];
    const servers = await Promise.all(
      (['all', 'all', 'worker'] as const).map((mode) => stage.server({ database, mode, args })),
    );
    const [first, ...others] = servers as [ServerProcess, ...ServerProcess[]];
    const client = stage.client(first);
    const acknowledged: Acknowledged[] = [];
    for (let version = 1; version <= count; version++) {
      await nearTheSecond(stage);
      const stopped = stage.random.chance(0.5) ? stage.random.pick(others) : undefined;
      stopped?.process.pause();
      await put(stage, client, version);
      acknowledged.push({ version, at: await databaseTime(database) });
      if (stopped === undefined) continue;
      await stage.sleep(stage.random.between(0, 400));
      stopped.process.resume();
    }
    // Whatever is still planned by the version before the last gets its chance.
    await stage.sleep(2_000);
    await database.query('UPDATE millrace.crons SET enabled = false');
    await judge(stage, database, acknowledged);
    await database.expirePoolLeases();
    await stage.drained(database);
  },
};

/** Up to 80 ms before the next full second, or up to 20 ms after it. */
async function nearTheSecond(stage: Stage): Promise<void> {
  await stage.sleep(1_000 - (Date.now() % 1_000) + stage.random.between(-80, 20));
}

async function put(stage: Stage, client: ChaosClient, version: number): Promise<void> {
  const period = PERIODS[version % PERIODS.length] ?? 1;
  const body = {
    cron_expr: `*/${period} * * * * *`,
    task_name: 'echo',
    payload: { version, period },
    config: QUICK,
  };
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
