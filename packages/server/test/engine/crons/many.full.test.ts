import { describe, expect, it } from 'vitest';
import { controlClock } from '../../support/clock.js';
import { cloneDatabase, type TestDatabase } from '../../support/database.js';
import { startTestServer, TENANT_A } from '../../support/server.js';
import { until } from '../../support/until.js';
import { createFirer } from './harness.js';

/** Ten thousand schedules due at one instant: how many statements that takes, and that each gets its job. */
const SCHEDULES = 10_000;
const BATCH = 250;

/** As that many requests would have stored them, due at the next full hour. */
const FILL = `
  INSERT INTO millrace.crons (created_at, next_run_at, priority, id, tenant, name, expr, task, queue, payload, config)
  SELECT now(), date_trunc('hour', now()) + interval '1 hour', 0, gen_random_uuid(), $1, n::text,
         CASE WHEN n % 2 = 0 THEN '@hourly' ELSE '0 */' || 1 + n % 12 || ' * * *' END, 'x', 'nobody', '{}', '{}'
  FROM generate_series(1, $2::int) AS n`;

const toTheHour = async (clock: { advance(seconds: number): Promise<void>; now(): Promise<Date> }): Promise<void> =>
  clock.advance(3600.01 - ((await clock.now()).getTime() % 3_600_000) / 1000);

const fill = async (database: TestDatabase): Promise<void> => {
  await database.query('INSERT INTO millrace.tenants VALUES ($1, 0) ON CONFLICT DO NOTHING', [TENANT_A]);
  await database.query(FILL, [TENANT_A, SCHEDULES]);
};

describe('ten thousand schedules on the hour', () => {
  it('are fired as planned, in forty statements after one look', async () => {
    const database = await cloneDatabase();
    const clock = await controlClock(database);
    const alone = createFirer(database);
    const { firer, fired, statements } = alone;
    await fill(database);
    // Two seconds before the hour everything is planned, and nothing has been fired.
    await clock.freeze();
    await toTheHour(clock);
    await clock.advance(-2);
    expect(await firer.fireDue()).toMatchObject({ due: 0, fired: 0, broken: [] });
    const plannedAt = performance.now();
    expect(statements).toEqual({ cron_agenda: 1 });

    await until(() => performance.now() > plannedAt + 2_000, { what: 'the hour, for the firer' });
    await clock.advance(2.01);
    expect(await firer.fireDue()).toMatchObject({ due: SCHEDULES, fired: SCHEDULES, broken: [] });
    expect(statements).toEqual({ cron_agenda: 1, fire_crons: SCHEDULES / BATCH });
    expect(new Set(fired.map(({ kind }) => kind))).toEqual(new Set(['on_time']));
    expect(await firer.fireDue()).toMatchObject({ due: 0, fired: 0 });
    expect(statements.fire_crons).toBe(SCHEDULES / BATCH);
    await alone.close();
    await database.drop();
  });

  it('get one job each from two concurrent schedulers', async () => {
    const database = await cloneDatabase();
    const clock = await controlClock(database);
    const server = await startTestServer({ database });
    const other = createFirer(database);
    await fill(database);
    await clock.freeze();
    await toTheHour(clock);
    await other.firer.fireDue();
    const body = await until(
      async () => {
        const page = (await server.a.get('/api/v1/jobs?queue=nobody&include_total=true&limit=1')).body;
        return (page.total as number) >= SCHEDULES ? page : `${page.total} jobs`;
      },
      { what: 'ten thousand jobs' },
    );
    expect(body.total).toBe(SCHEDULES);
    const [firings] = await database.query(`
      SELECT count(*)::int AS records, count(DISTINCT cron_id)::int AS schedules, count(DISTINCT job_id)::int AS jobs
      FROM millrace.cron_firings WHERE kind = 'on_time'`);
    expect(firings).toEqual({ records: SCHEDULES, schedules: SCHEDULES, jobs: SCHEDULES });
    await other.close();
    await server.stop();
    await database.drop();
  });
});
