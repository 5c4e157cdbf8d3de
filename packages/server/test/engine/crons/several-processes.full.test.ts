import pg from 'pg';
import { afterAll, describe, expect, inject, it } from 'vitest';
import { controlClock } from '../../support/clock.js';
import { cloneDatabase, type TestDatabase } from '../../support/database.js';
import { startTestServer, TENANT_A, type TestServer } from '../../support/server.js';
import { until } from '../../support/until.js';
import { advanceTo, createFirer, cronsOf, type TestFirer } from './harness.js';

/**
 * Waits until the servers have all of their connections: one opened later would look as if the next server had leaked
 * it. A pooler opens as many as it likes, and then this is not checked.
 */
const connectionsOf = (database: TestDatabase, count: number): Promise<boolean> =>
  until(async () => {
    if (inject('poolerPort') !== null) return true;
    const ours = `SELECT FROM pg_stat_activity
      WHERE datname = current_database() AND application_name LIKE 'millrace%'`;
    return (await database.query(ours)).length === count;
  });

/** What anybody says about schedules on the channel of the servers: when the next one is due, in milliseconds. */
async function listenTo(database: TestDatabase): Promise<{ crons(): readonly number[]; close(): Promise<void> }> {
  const client = new pg.Client({ connectionString: database.homeOf(TENANT_A).url, application_name: 'test kit' });
  const said: number[] = [];
  client.on('notification', ({ payload }) => {
    const { c } = JSON.parse(payload!) as { c?: number };
    if (c !== undefined) said.push(c);
  });
  await client.connect();
  await client.query('LISTEN millrace');
  return { crons: () => said, close: () => client.end() };
}

/** Many schedulers on one database. */
describe('five processes', () => {
  it('fire an every-second schedule once per second', async () => {
    const database = await cloneDatabase();
    const clock = await controlClock(database);
    await clock.freeze();
    // Started in turn and stopped in reverse, the one with client connections last: each checks that it leaks nothing.
    const servers: TestServer[] = [];
    for (const mode of ['worker', 'worker', 'worker', 'worker', 'all'] as const) {
      servers.push(await startTestServer({ database, config: { maxDbConnections: 4, mode } }));
      await connectionsOf(database, 4 * servers.length);
    }
    const polls = cronsOf(servers.at(-1)!.a);
    const id = await polls.create({ cron_expr: '* * * * * *', queue: 'nobody' });
    // All of them are woken for each second, and one of them fires.
    for (let n = 1; n <= 6; n++) {
      await advanceTo(clock, (await polls.get(id)).next_run_at);
      await until(async () => (await polls.firings(id)).length >= n, { what: `firing ${n}` });
    }
    await polls.act(id, 'pause');
    const firings = (await polls.firings(id)).toReversed();
    const jobs = await polls.jobs(id);
    expect(jobs.map((job) => job.idempotency_key)).toEqual(
      firings.map((firing) => `millrace:cron:${id}:${firing.occurrence}`),
    );
    const { created_at } = await polls.get(id);
    const firstSecond = Math.floor(Date.parse(created_at) / 1000) + 1;
    expect(firings).toHaveLength(6);
    firings.forEach(({ occurrence, kind }, n) => {
      expect(Date.parse(occurrence)).toBe((firstSecond + n) * 1000);
      expect(kind).toBe('on_time');
    });
    for (const server of servers.toReversed()) await server.stop();
    await database.drop();
  });
});

describe('a schedule that another process sets', () => {
  it('wakes a sleeping scheduler, whether it was created or resumed', async () => {
    const database = await cloneDatabase();
    const heard = await listenTo(database);
    const worker = await startTestServer({ database, config: { maxDbConnections: 4, mode: 'worker' } });
    await connectionsOf(database, 4);
    const api = await startTestServer({ database, config: { mode: 'api' } });
    const polls = cronsOf(api.a);
    const id = await polls.create({ cron_expr: '* * * * * *', queue: 'nobody' });
    const created = await until(() => heard.crons()[0], { what: 'the news of a new schedule' });
    const first = await until(async () => (await polls.firings(id)).at(-1), { what: 'its first firing' });
    expect(Date.parse(first.occurrence)).toBe(created);
    await polls.act(id, 'pause');
    const news = heard.crons().length;
    await polls.act(id, 'resume');
    const resumed = await until(() => heard.crons()[news], { what: 'the news of a resumed schedule' });
    await until(async () => (await polls.firings(id)).some(({ occurrence }) => Date.parse(occurrence) === resumed), {
      what: 'its next firing',
    });
    await heard.close();
    await api.stop();
    await worker.stop();
    await database.drop();
  });
});

describe('a process in api mode', () => {
  it('leaves firing to processes with workers', async () => {
    const database = await cloneDatabase();
    const clock = await controlClock(database);
    await clock.freeze();
    const api = await startTestServer({ database, config: { mode: 'api' } });
    const polls = cronsOf(api.a);
    const id = await polls.create({ cron_expr: '@hourly', queue: 'nobody' });
    const { next_run_at: occurrence } = await polls.get(id);
    await advanceTo(clock, occurrence);
    await clock.advance(10);
    const worker = await startTestServer({ database, config: { mode: 'worker' } });
    // Ten seconds late counts as missed: if the api process had fired it, it would have been on time.
    // Read from the database: connections to the API would look as if the worker had leaked them.
    await until(async () => (await database.query('SELECT FROM millrace.cron_firings')).length > 0);
    await worker.stop();
    expect(await polls.firings(id)).toMatchObject([{ occurrence, kind: 'catch_up' }]);
    await api.stop();
    await database.drop();
  });
});

describe('the firing statement', async () => {
  const database = await cloneDatabase();
  const clock = await controlClock(database);
  await clock.freeze();
  const api = await startTestServer({ database, config: { mode: 'api' } });
  const polls = cronsOf(api.a);
  const firers: TestFirer[] = [];
  const firer = (beforeFiring?: () => Promise<void>): TestFirer => {
    const created = createFirer(database, beforeFiring);
    firers.push(created);
    return created;
  };
  const { firer: plain } = firer();
  /** The schedules of earlier tests would be due as well. */
  const alone = () => database.query('DELETE FROM millrace.crons');
  afterAll(async () => {
    for (const firer of firers) await firer.close();
    await api.stop();
    await database.drop();
  });

  it('divides what is due among concurrent callers', async () => {
    await alone();
    const ids = await Promise.all(
      Array.from({ length: 60 }, () => polls.create({ cron_expr: '@hourly', queue: 'shared' })),
    );
    await advanceTo(clock, (await polls.get(ids[0]!)).next_run_at);
    const crowd = Array.from({ length: 6 }, () => firer());
    await Promise.all(crowd.map((member) => member.firer.fireDue()));
    // Whoever found a row locked left it to its holder, who fired it.
    expect(crowd.reduce((n, member) => n + member.fired.length, 0)).toBe(60);
    for (const id of ids) expect(await polls.firings(id)).toHaveLength(1);
    expect((await api.a.get('/api/v1/jobs?queue=shared&include_total=true&limit=1')).body.total).toBe(60);
    expect(await plain.fireDue()).toMatchObject({ due: 0, fired: 0 });
  });

  it('does nothing for a process that was overtaken while it was stopped', async () => {
    await alone();
    const id = await polls.create({ cron_expr: '* * * * *', queue: 'overtaken' });
    await advanceTo(clock, (await polls.get(id)).next_run_at);
    const stopped = firer(async () => void (await plain.fireDue()));
    expect(await stopped.firer.fireDue()).toMatchObject({ due: 1, fired: 0 });
    expect(stopped.fired).toEqual([]);
    expect(await polls.firings(id)).toHaveLength(1);
  });

  it('does not act on an outdated decision', async () => {
    await alone();
    const id = await polls.create({ cron_expr: '* * * * *', queue: 'asleep' });
    const { next_run_at: occurrence } = await polls.get(id);
    await advanceTo(clock, occurrence);
    let asleep = true;
    const stopped = firer(async () => {
      if (asleep) await clock.advance(600);
      asleep = false;
    });
    expect(await stopped.firer.fireDue()).toMatchObject({ due: 1, fired: 0 });
    // Ten minutes later, what was on time has become part of what was missed: one firing for all of it.
    expect(await stopped.firer.fireDue()).toMatchObject({ due: 1, fired: 1 });
    expect(await stopped.firer.fireDue()).toMatchObject({ due: 0, fired: 0 });
    expect(await polls.firings(id)).toMatchObject([{ occurrence, kind: 'catch_up' }]);
  });

  it.each(['pause', 'delete'] as const)('skips a schedule that was %sd meanwhile', async (what) => {
    await alone();
    const id = await polls.create({ cron_expr: '* * * * *', queue: `meanwhile-${what}` });
    await advanceTo(clock, (await polls.get(id)).next_run_at);
    const stopped = firer(async () => {
      if (what === 'pause') await polls.act(id, 'pause');
      else await api.a.delete(`/api/v1/cron/${id}`);
    });
    expect(await stopped.firer.fireDue()).toMatchObject({ due: 1, fired: 0 });
    expect(await polls.jobs(id)).toEqual([]);
  });

  it('pauses a schedule that cannot be parsed, and fires the rest', async () => {
    await alone();
    const ids = await Promise.all(
      Array.from({ length: 9 }, () => polls.create({ cron_expr: '@hourly', queue: 'rest' })),
    );
    // No request can store such an expression; a manual change or another version of the program could.
    await database.query(`UPDATE millrace.crons SET expr = 'nonsense' WHERE id = $1`, [ids[4]]);
    await advanceTo(clock, (await polls.get(ids[0]!)).next_run_at);
    expect(await plain.fireDue()).toMatchObject({ due: 8, fired: 8, broken: [{ id: ids[4], paused: true }] });
    expect(await plain.fireDue()).toMatchObject({ due: 0, fired: 0, broken: [] });
    expect((await polls.get(ids[4]!)).enabled).toBe(false);
    for (const id of ids) expect(await polls.jobs(id)).toHaveLength(id === ids[4] ? 0 : 1);
  });

  it('fires the rest if the database rejects one, and that one once it no longer does', async () => {
    await alone();
    const ids = await Promise.all(
      Array.from({ length: 9 }, () => polls.create({ cron_expr: '@hourly', queue: 'rest' })),
    );
    const refused = await polls.create({ cron_expr: '@hourly', queue: 'refused' });
    await database.query(`ALTER TABLE millrace.ready ADD CONSTRAINT refuse CHECK (queue <> 'refused')`);
    await advanceTo(clock, (await polls.get(refused)).next_run_at);
    const broken = [{ id: refused, paused: false }];
    expect(await plain.fireDue()).toMatchObject({ due: 10, fired: 9, broken });
    expect(await plain.fireDue()).toMatchObject({ due: 1, fired: 0, broken });
    expect(await polls.jobs(refused)).toEqual([]);
    for (const id of ids) expect(await polls.jobs(id)).toHaveLength(1);
    await database.query('ALTER TABLE millrace.ready DROP CONSTRAINT refuse');
    expect(await plain.fireDue()).toMatchObject({ due: 1, fired: 1, broken: [] });
    expect(await polls.jobs(refused)).toHaveLength(1);
  });

  it('fires each of two late occurrences, and keeps a thousand firings', async () => {
    await alone();
    const id = await polls.create({ cron_expr: '* * * * * *', queue: 'busy' });
    // So that the ring is full after a few: firings before these are not there, but the next ones take their places.
    await database.query('UPDATE millrace.crons SET fired = 980 WHERE id = $1', [id]);
    await database.query(
      `INSERT INTO millrace.cron_firings (occurrence, fired_at, number, slot, kind, job_id, cron_id, tenant)
       SELECT c.created_at - (981 - n) * interval '1 second', c.created_at - (981 - n) * interval '1 second',
              n, n % 1000, 'on_time', c.id, c.id, c.tenant
       FROM millrace.crons c, generate_series(1, 980) AS n WHERE c.id = $1`,
      [id],
    );
    await advanceTo(clock, (await polls.get(id)).next_run_at);
    let fired = 0;
    while (fired < 40) {
      await clock.advance(1);
      for (;;) {
        const round = await plain.fireDue();
        if (round.due === 0) break;
        fired += round.fired;
      }
    }
    const jobs = await polls.jobs(id);
    expect(jobs).toHaveLength(fired);
    const occurrences = jobs.map((job) => Date.parse(job.idempotency_key.slice(-20)));
    occurrences.slice(1).forEach((occurrence, n) => expect(occurrence - occurrences[n]!).toBe(1_000));

    const remembered: any[] = [];
    for (let cursor = ''; ;) {
      const path = `/api/v1/cron/${id}/firings?limit=100&include_total=true${cursor}`;
      const page = (await api.a.get(path)).body;
      expect(page).toMatchObject({ limit: 100, total: 1_000 });
      remembered.push(...page.firings);
      if (!page.has_more) break;
      cursor = `&cursor=${page.next_cursor}`;
    }
    expect(remembered).toHaveLength(1_000);
    const newest = jobs.map((job) => job.id).toReversed();
    expect(remembered.slice(0, fired).map((each) => each.job_id)).toEqual(newest);
    const instants = remembered.map((each) => Date.parse(each.occurrence));
    instants.slice(1).forEach((each, n) => expect(each).toBeLessThan(instants[n]!));

    const ascending = await polls.firings(id, '?limit=100&order_by=created_at+ASC');
    expect(ascending).toEqual(remembered.slice(-100).toReversed());
    const since = remembered[9].fired_at;
    expect(await polls.firings(id, `?created_after=${since}`)).toEqual(remembered.slice(0, 10));
    expect(await polls.firings(id, `?limit=100&created_before=${since}`)).toEqual(remembered.slice(10, 110));
    expect((await api.a.get(`/api/v1/cron/${id}/firings?cursor=WyJ4Il0`)).status).toBe(400);
  });
});
