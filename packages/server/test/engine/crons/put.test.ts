import { afterAll, describe, expect, it } from 'vitest';
import { controlClock } from '../../support/clock.js';
import type { Reply } from '../../support/client.js';
import { cloneDatabase } from '../../support/database.js';
import { startTestServer } from '../../support/server.js';
import { advanceTo, createFirer, cronsOf } from './harness.js';

/** Schedules that are replaced by name. Nothing fires by itself: a process in api mode has no scheduler. */
const database = await cloneDatabase();
const clock = await controlClock(database);
await clock.freeze();
const server = await startTestServer({ database, config: { mode: 'api', defaultQueue: 'the-default' } });
const { a, b, worker, nobody } = server;
const desk = cronsOf(a);
afterAll(async () => {
  await server.stop();
  await database.drop();
});

const put = (name: string, body: unknown, client = a): Promise<Reply> =>
  client.send('PUT', `/api/v1/cron/${encodeURIComponent(name)}`, { body });
const YEARLY = { cron_expr: '0 0 1 1 *', task_name: 'report' };

describe('putting a schedule', () => {
  it('creates it, then replaces it as a whole', async () => {
    const created = await put('nightly', {
      ...YEARLY,
      timezone: 'Europe/Berlin',
      payload: { n: 1 },
      queue: 'reports',
      config: { priority: 3 },
    });
    expect([created.status, Object.keys(created.body)]).toEqual([201, ['cron_id']]);
    const id = created.body.cron_id;
    expect(created.headers.get('location')).toBe(`/api/v1/cron/${id}`);
    const before = await desk.get(id);
    expect(before).toMatchObject({ name: 'nightly', timezone: 'Europe/Berlin', enabled: true });
    expect(before.next_run_at).toMatch(/-12-31T23:00:00Z$/);

    const replaced = await put('nightly', { cron_expr: '@hourly', task_name: 'other' });
    expect([replaced.status, replaced.body]).toEqual([200, { cron_id: id }]);
    expect(replaced.headers.get('location')).toBe(`/api/v1/cron/${id}`);
    expect(await desk.get(id)).toEqual({
      ...before,
      cron_expr: '@hourly',
      timezone: 'UTC',
      task_name: 'other',
      payload: {},
      queue_name: 'the-default',
      config: {},
      next_run_at: expect.stringMatching(/:00:00Z$/),
    });
  });

  it('keeps the payload byte for byte', async () => {
    const payload = '{"z":1.0,"a":12345678901234567890}';
    const body = `{"cron_expr":"@yearly","task_name":"t","payload":${payload}}`;
    for (const status of [201, 200]) {
      const reply = await put('raw', body);
      expect(reply.status).toBe(status);
      expect((await a.get(`/api/v1/cron/${reply.body.cron_id}`)).text).toContain(`"payload":${payload}`);
    }
  });

  it('keeps the next occurrence as long as expression and zone stay, even one that is due', async () => {
    const fields = { cron_expr: '0 9 * * *', timezone: 'Asia/Tokyo' };
    const id = await desk.put('kept', fields);
    const { next_run_at } = await desk.get(id);
    await advanceTo(clock, next_run_at);
    await desk.put('kept', { ...fields, payload: { changed: true } });
    expect(await desk.get(id)).toMatchObject({ next_run_at, payload: { changed: true } });
    await desk.put('kept', { ...fields, timezone: 'UTC' });
    const inUtc = await desk.get(id);
    expect(inUtc.next_run_at).toMatch(/T09:00:00Z$/);
    expect(Date.parse(inUtc.next_run_at!)).toBeGreaterThan((await clock.now()).getTime());
    await desk.put('kept', { ...fields, cron_expr: '30 9 * * *' });
    expect((await desk.get(id)).next_run_at).toMatch(/T00:30:00Z$/);
  });

  it('keeps it paused, and resuming goes by the new expression', async () => {
    const id = await desk.put('paused', YEARLY);
    await desk.act(id, 'pause');
    await desk.put('paused', YEARLY);
    expect((await desk.get(id)).enabled).toBe(false);
    await desk.put('paused', { cron_expr: '15 10 * * *', timezone: 'Asia/Kathmandu' });
    expect(await desk.get(id)).toMatchObject({ enabled: false, next_run_at: expect.stringMatching(/T04:30:00Z$/) });
    await desk.act(id, 'resume');
    expect(await desk.get(id)).toMatchObject({ enabled: true, next_run_at: expect.stringMatching(/T04:30:00Z$/) });
  });

  it('replaces one that has ended, and one whose expression ends is still refused as new', async () => {
    const year = (await clock.now()).getUTCFullYear() + 1;
    const ends = { cron_expr: `0 0 0 1 1 * ${year}` };
    const id = await desk.put('ends', ends);
    await advanceTo(clock, (await desk.get(id)).next_run_at);
    const firing = createFirer(database);
    await firing.firer.fireDue();
    await firing.close();
    expect(await desk.get(id)).toMatchObject({ enabled: false, next_run_at: null });

    await desk.put('ends', { ...ends, payload: { n: 2 } });
    expect(await desk.get(id)).toMatchObject({ enabled: false, next_run_at: null, payload: { n: 2 } });
    for (const name of ['ends', 'new']) {
      const reply = await put(name, { cron_expr: '0 0 0 1 1 * 2001', task_name: 't' });
      expect([reply.status, reply.body.details[0].path]).toEqual([400, 'cron_expr']);
    }
    await desk.put('ends', { cron_expr: '@daily' });
    expect((await desk.get(id)).enabled).toBe(false);
    await desk.act(id, 'resume');
    expect((await desk.get(id)).enabled).toBe(true);
  });

  it('makes one schedule of twenty that ask at once', async () => {
    const replies = await Promise.all(Array.from({ length: 20 }, (_, n) => put('race', { ...YEARLY, payload: { n } })));
    expect(replies.map((reply) => reply.status).sort()).toEqual([...Array<number>(19).fill(200), 201]);
    expect(new Set(replies.map((reply) => reply.body.cron_id)).size).toBe(1);
    const all = (await a.get('/api/v1/cron?limit=100')).body.crons;
    expect(all.filter((each: { name: string }) => each.name === 'race')).toHaveLength(1);
  });
});

describe('the name', () => {
  it.each(['a/b', 'ä ö%20', '100%', '?q=1', 'preview', '"; --', '.hidden', 'x'.repeat(255), '😀'.repeat(255)])(
    'is percent-decoded: %s',
    async (name) => {
      const reply = await put(name, YEARLY);
      expect(reply.status, reply.text).toBe(201);
      expect((await desk.get(reply.body.cron_id)).name).toBe(name);
      expect((await put(name, { ...YEARLY, name })).status).toBe(200);
      expect((await put(name, { ...YEARLY, name: null })).status).toBe(200);
    },
  );

  it.each([
    ['another one in the body', 'path', { name: 'body' }],
    ['too long', 'x'.repeat(256), {}],
    ['blank', ' ', {}],
    ['one that cannot be stored', 'a\0b', {}],
  ])('is refused: %s', async (_what, name, fields) => {
    const reply = await put(name, { ...YEARLY, ...fields });
    expect([reply.status, reply.body.code]).toEqual([400, 'invalid_request']);
    expect(reply.body.details.map((each: { path: string }) => each.path)).toEqual(['name']);
  });

  it('is refused where the path cannot be decoded', async () => {
    expect((await a.send('PUT', '/api/v1/cron/%zz', { body: YEARLY })).status).toBe(400);
  });

  it('is one and the same to create and to put', async () => {
    const id = await desk.create({ name: 'shared', ...YEARLY });
    expect(await desk.put('shared', YEARLY)).toBe(id);
    expect((await a.post('/api/v1/cron', { name: 'shared', ...YEARLY })).status).toBe(409);
  });
});

describe('what is refused', () => {
  it.each([
    ['cron_expr', { cron_expr: '60 * * * *' }],
    ['cron_expr', { cron_expr: undefined }],
    ['cron_expr', { cron_expr: '0 0 30 2 *' }],
    ['timezone', { timezone: 'Mars/Olympus' }],
    ['task_name', { task_name: '' }],
    ['config.max_retries', { config: { max_retries: 1001 } }],
  ])('a bad %s changes nothing: %j', async (path, fields) => {
    const id = await desk.put('untouched', YEARLY);
    const before = await desk.get(id);
    const reply = await put('untouched', { ...YEARLY, ...fields });
    expect([reply.status, reply.body.details[0].path]).toEqual([400, path]);
    expect(await desk.get(id)).toEqual(before);
  });

  it('a request without a body, or without a credential of a tenant', async () => {
    expect((await a.send('PUT', '/api/v1/cron/x')).status).toBe(400);
    for (const client of [nobody, worker]) expect((await put('x', YEARLY, client)).status).toBe(401);
  });
});

it('is each tenant’s own', async () => {
  const mine = await put('same-name', YEARLY);
  const theirs = await put('same-name', { ...YEARLY, cron_expr: '@daily' }, b);
  expect([mine.status, theirs.status]).toEqual([201, 201]);
  expect(theirs.body.cron_id).not.toBe(mine.body.cron_id);
  expect((await desk.get(mine.body.cron_id)).cron_expr).toBe(YEARLY.cron_expr);
  // An id is a name like any other here, and reaches nobody's schedule.
  const byId = await put(theirs.body.cron_id, YEARLY);
  expect(byId.status).toBe(201);
  expect((await b.get(`/api/v1/cron/${theirs.body.cron_id}`)).body.cron_expr).toBe('@daily');
});

it('may be called from a page of another origin', async () => {
  const headers = { origin: 'https://example.org', 'access-control-request-method': 'PUT' };
  const reply = await nobody.send('OPTIONS', '/api/v1/cron/x', { headers });
  expect(reply.headers.get('access-control-allow-methods')).toContain('PUT');
});

describe('a firing that was planned by the old expression', () => {
  it('does not take effect, even where the new one has the same next occurrence', async () => {
    await database.query('DELETE FROM millrace.crons');
    const id = await desk.put('replanned', { cron_expr: '0 0 * * *', queue: 'nobody' });
    const { next_run_at: occurrence } = await desk.get(id);
    await advanceTo(clock, occurrence);
    // Stopped between its plan and its act, while the schedule is replaced by one that stands at the same instant.
    let replaced = false;
    const stopped = createFirer(database, async () => {
      if (replaced) return;
      replaced = true;
      await database.query(`UPDATE millrace.crons SET next_run_at = next_run_at + interval '1 day' WHERE id = $1`, [
        id,
      ]);
      await desk.put('replanned', { cron_expr: '0 0 */2 * *', queue: 'nobody' });
      await database.query('UPDATE millrace.crons SET next_run_at = $2 WHERE id = $1', [id, occurrence]);
    });
    expect(await stopped.firer.fireDue()).toMatchObject({ due: 1, fired: 0 });
    expect(await desk.jobs(id)).toEqual([]);
    expect((await desk.get(id)).next_run_at).toBe(occurrence);

    expect(await stopped.firer.fireDue()).toMatchObject({ due: 1, fired: 1 });
    const { next_run_at } = await desk.get(id);
    expect(new Date(next_run_at!).getUTCDate() % 2).toBe(1);
    expect(await desk.jobs(id)).toHaveLength(1);
    await stopped.close();
  });

  it('is not what resuming goes by', async () => {
    const id = await desk.put('resumed', { cron_expr: '0 0 * * *' });
    await desk.act(id, 'pause');
    // Both at once, again and again: whichever comes last, the schedule stands where its own expression puts it.
    for (let round = 0; round < 20; round++) {
      const hour = round % 24;
      await Promise.all([desk.act(id, 'resume'), desk.put('resumed', { cron_expr: `30 ${hour} * * *` })]);
      const { next_run_at } = await desk.get(id);
      expect(new Date(next_run_at!).toISOString().slice(11, 19)).toBe(`${String(hour).padStart(2, '0')}:30:00`);
      await desk.act(id, 'pause');
    }
  });

  it('does not pause what has become readable meanwhile', async () => {
    await database.query('DELETE FROM millrace.crons');
    const id = await desk.put('repaired', { cron_expr: '0 0 * * *', queue: 'nobody' });
    await database.query(`UPDATE millrace.crons SET timezone = 'Mars/Olympus' WHERE id = $1`, [id]);
    await advanceTo(clock, (await desk.get(id)).next_run_at);
    const repairing = createFirer(database, undefined, async () => {
      await desk.put('repaired', { cron_expr: '0 0 * * *', queue: 'nobody' });
    });
    expect(await repairing.firer.fireDue()).toMatchObject({ fired: 0, broken: [{ id }] });
    expect((await desk.get(id)).enabled).toBe(true);
    await repairing.close();
  });
});
