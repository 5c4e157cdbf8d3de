import { afterAll, describe, expect, it } from 'vitest';
import { controlClock } from '../../support/clock.js';
import { cloneDatabase } from '../../support/database.js';
import { startTestServer } from '../../support/server.js';
import { until } from '../../support/until.js';
import { advanceTo, cronsOf } from './harness.js';

/** Time zones, from the request to the firing, on a database whose clock the tests move. */
const database = await cloneDatabase();
const clock = await controlClock(database);
await clock.freeze();
const server = await startTestServer({ database, config: { workers: 0 } });
const { a, nobody, worker } = server;
const desk = cronsOf(a);
afterAll(async () => {
  await server.stop();
  await database.drop();
});

const moveTo = async (instant: string): Promise<void> =>
  clock.advance((Date.parse(instant) - (await clock.now()).getTime()) / 1000);

async function fireNext(id: string): Promise<string> {
  const before = await desk.get(id);
  await advanceTo(clock, before.next_run_at);
  await until(async () => (await desk.get(id)).next_run_at !== before.next_run_at, { what: 'the firing' });
  return before.next_run_at!;
}

describe('a schedule with a time zone', () => {
  it('shows the zone as it was given, and UTC where none was', async () => {
    const zone = async (timezone?: string | null) =>
      (await desk.get(await desk.create({ cron_expr: '@yearly', timezone }))).timezone;
    expect(await zone('America/New_York')).toBe('America/New_York');
    expect(await zone('europe/berlin')).toBe('europe/berlin');
    expect(await zone()).toBe('UTC');
    expect(await zone(null)).toBe('UTC');
  });

  it('fires what a clock change skips at the change, and what it repeats once', async () => {
    await moveTo('2027-03-27T12:00:00Z');
    const fixed = await desk.create({ cron_expr: '30 2 * * *', timezone: 'Europe/Berlin', queue: 'fixed' });
    const fired = [await fireNext(fixed), await fireNext(fixed)];
    await moveTo('2027-10-30T12:00:00Z');
    await until(async () => Date.parse((await desk.get(fixed)).next_run_at!) > Date.parse('2027-10-30T12:00:00Z'));
    fired.push(await fireNext(fixed), await fireNext(fixed));
    expect(fired).toEqual([
      '2027-03-28T01:00:00Z',
      '2027-03-29T00:30:00Z',
      '2027-10-31T00:30:00Z',
      '2027-11-01T01:30:00Z',
    ]);
    const due = (await desk.jobs(fixed)).map((job) => job.metadata.cron_due_at);
    expect(due).toEqual(expect.arrayContaining(fired));
    expect(new Set(due).size).toBe(due.length);
  });

  it('with a wildcard hour fires every hour of such a night', async () => {
    await moveTo('2028-10-28T23:45:00Z');
    const id = await desk.create({ cron_expr: '30 * * * *', timezone: 'Europe/Berlin', queue: 'elapsed' });
    const fired = [await fireNext(id), await fireNext(id), await fireNext(id)];
    expect(fired).toEqual(['2028-10-29T00:30:00Z', '2028-10-29T01:30:00Z', '2028-10-29T02:30:00Z']);
  });
});

describe('a preview', () => {
  const preview = (query: Record<string, string>, client = a) =>
    client.get(`/api/v1/cron/preview?${new URLSearchParams(query).toString()}`);

  it('is the five next instants, of the database’s clock', async () => {
    await moveTo('2029-03-23T12:00:00Z');
    expect((await preview({ expr: '0 9 * * *' })).body).toEqual({
      next: [24, 25, 26, 27, 28].map((day) => `2029-03-${day}T09:00:00Z`),
    });
    const berlin = await preview({ expr: '30 2 * * *', timezone: 'Europe/Berlin' });
    expect([berlin.status, berlin.body]).toEqual([
      200,
      {
        next: [
          '2029-03-24T01:30:00Z',
          '2029-03-25T01:00:00Z',
          '2029-03-26T00:30:00Z',
          '2029-03-27T00:30:00Z',
          '2029-03-28T00:30:00Z',
        ],
      },
    ]);
    expect((await preview({ expr: '0 0 0 1 1,7 * 2150' })).body.next).toHaveLength(2);
  });

  it('agrees with a schedule that is created', async () => {
    for (const expr of ['5/15 * * * *', '0 0 ? * monday', '0 0 1 january,JULY ?', '@weekly']) {
      const timetable = { timezone: 'Pacific/Auckland' };
      const id = await desk.create({ cron_expr: expr, ...timetable });
      const next = (await a.get(`/api/v1/cron/${id}/next?count=5`)).body.next_run_at;
      expect((await preview({ expr, ...timetable })).body).toEqual({ next });
      expect((await desk.get(id)).next_run_at).toBe(next[0]);
    }
  });

  it.each([
    ['expr', {}],
    ['expr', { expr: '' }],
    ['expr', { expr: '61 * * * *' }],
    ['expr', { expr: '0 0 30 2 *' }],
    ['expr', { expr: '0 0 0 1 1 * 2001' }],
    ['expr', { expr: '* * * * *' + ' '.repeat(255) }],
    ['expr', { expr: 'TZ=UTC * * * * *' }],
    ['timezone', { expr: '* * * * *', timezone: 'Mars/Olympus' }],
    ['timezone', { expr: '* * * * *', timezone: '' }],
    ['timezone', { expr: '* * * * *', timezone: 'a\0' }],
  ])('refuses a bad %s: %j', async (path, query) => {
    const reply = await preview(query);
    expect([reply.status, reply.body.code]).toEqual([400, 'invalid_request']);
    expect(reply.body.details).toEqual([{ path, message: expect.any(String) }]);
  });

  it('is for tenants, and stores nothing', async () => {
    for (const client of [nobody, worker]) expect((await preview({ expr: '* * * * *' }, client)).status).toBe(401);
    const count = async () => (await a.get('/api/v1/cron?include_total=true')).body.total;
    const before = await count();
    await preview({ expr: '* * * * *' });
    expect(await count()).toBe(before);
  });

  it('is no id', async () => {
    expect((await a.delete('/api/v1/cron/preview')).status).toBe(404);
    expect((await a.post('/api/v1/cron/preview/pause')).status).toBe(404);
  });
});
