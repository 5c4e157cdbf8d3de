import { LOG_ATTEMPT_BYTES, LOG_LINES_PER_CALL, LOG_PAGE_LINES } from '@millrace/contract';
import { afterAll, describe, expect, it } from 'vitest';
import { createClient } from '../../support/client.js';
import { cloneDatabase } from '../../support/database.js';
import { KEY_A, startTestServer } from '../../support/server.js';
import { startAnotherServer } from '../another-server.js';
import { complete, createJob, fail, leaseOne, newQueue, report, type Leased } from '../kit.js';
import { inTime, LONGEST_WAIT_SECS } from '../waiting.js';

/** What handlers write, in two processes on one database. */
const database = await cloneDatabase();
const server = await startTestServer({ database, config: { mode: 'api' } });
const other = await startAnotherServer(database, { mode: 'api' });
const { a, b, worker } = server;
const a2 = createClient(other.apiUrl!, KEY_A);
afterAll(async () => {
  await other.stop();
  await server.stop();
  await database.drop();
});

const AT = '2026-01-31T09:00:00.123Z';
const line = (message: string, more: object = {}): object => ({ at: AT, level: 'info', message, ...more });
const begun = async (config: object = {}): Promise<Leased> => {
  const queue = newQueue();
  await createJob(a, queue, { config: { backoff: 'fixed', retry_delay_secs: 0, ...config } });
  return leaseOne(worker, queue);
};
const beat = async (leased: Leased, logs: unknown): Promise<void> => {
  const { status, text } = await report(worker, 'heartbeat', leased, { extend_secs: 3_600, logs });
  expect(status, text).toBe(200);
};
const logsOf = async ({ job: { id } }: Pick<Leased, 'job'>, query = '', client = a): Promise<any> => {
  const { status, body, text } = await client.get(`/api/v1/jobs/${id}/logs?${query}`);
  expect(status, text).toBe(200);
  return body;
};
const messages = (page: any): string[] => page.lines.map(({ message }: { message: string }) => message);

describe('the log of a job', () => {
  it('has what came with heartbeats and reports, in order, as it was sent', async () => {
    const leased = await begun();
    const fields = '{"charge":"ch_1","n":1.0}';
    await beat(leased, [line('one', { fields: JSON.parse(fields) }), line('two', { level: 'warn' })]);
    await beat(leased, null);
    expect((await complete(worker, leased)).status).toBe(204);
    const page = await logsOf(leased);
    expect(page).toEqual({
      lines: [
        { attempt: 1, seq: 1, at: AT, level: 'info', message: 'one', fields: { charge: 'ch_1', n: 1 } },
        { attempt: 1, seq: 2, at: AT, level: 'warn', message: 'two' },
      ],
      omitted: 0,
    });
  });

  it.each([
    ['complete', { result: {} }],
    ['fail', { error: 'broken', retryable: false }],
    ['release', {}],
    ['suspend', { checkpoint: 'nap', delay_secs: 60 }],
  ])('takes lines with %s', async (what, fields) => {
    const leased = await begun();
    const { status, text } = await report(worker, what, leased, { ...fields, logs: [line('last words')] });
    expect(status, text).toBe(204);
    expect(messages(await logsOf(leased))).toEqual(['last words']);
  });

  it('takes lines with reports and heartbeats of many', async () => {
    const [one, two] = [await begun(), await begun()];
    const of = ({ job, lease_token }: Leased, more: object) => ({ job_id: job.id, lease_token, ...more });
    const beats = await worker.post('/api/v1/heartbeats', {
      extend_secs: 3_600,
      leases: [of(one, { logs: [line('beat 1')] }), of(two, { logs: [line('beat 2')] })],
    });
    expect(beats.status, beats.text).toBe(200);
    const reports = await worker.post('/api/v1/reports', {
      reports: [
        of(one, { outcome: 'completed', result: {}, logs: [line('end 1')] }),
        of(two, { outcome: 'failed', error: 'no', logs: [line('end 2')] }),
      ],
    });
    expect(reports.status, reports.text).toBe(200);
    expect([messages(await logsOf(one)), messages(await logsOf(two))]).toEqual([
      ['beat 1', 'end 1'],
      ['beat 2', 'end 2'],
    ]);
  });

  it('numbers each attempt anew, and shows one of them if asked', async () => {
    const leased = await begun();
    await fail(worker, leased, { logs: [line('first'), line('then')] });
    const again = await leaseOne(worker, leased.job.queue_name);
    await complete(worker, again);
    await report(worker, 'complete', again, { logs: [line('too late')] });
    expect((await logsOf(leased)).lines.map(({ attempt, seq }: any) => [attempt, seq])).toEqual([
      [1, 1],
      [1, 2],
    ]);
    expect(messages(await logsOf(leased, 'attempt=2'))).toEqual([]);
    expect(messages(await logsOf(leased, 'attempt=1'))).toEqual(['first', 'then']);
  });

  it('has no line of whoever does not hold the lease', async () => {
    const leased = await begun();
    const stale = { ...leased, lease_token: '5f0c1a52-6f4b-4b5e-9d6c-0b7f3d1d2a10' };
    const { status } = await report(worker, 'heartbeat', stale, { extend_secs: 3_600, logs: [line('stolen')] });
    expect(status).toBe(409);
    expect((await logsOf(leased)).lines).toEqual([]);
  });

  it('cuts what is too long, and says so, and leaves out lines beyond those of one call', async () => {
    const leased = await begun();
    const many = Array.from({ length: LOG_LINES_PER_CALL + 5 }, (_, n) => line(`n${n}`));
    await beat(leased, [line('ü'.repeat(8_000), { fields: { text: 'y'.repeat(9_000) } })]);
    await beat(leased, many);
    const { lines } = await logsOf(leased);
    expect(Buffer.byteLength(lines[0].message)).toBeLessThanOrEqual(8_192);
    expect(lines[0].message).toMatch(/^ü+ … \(cut\)$/);
    expect(Object.keys(lines[0].fields)).toEqual(['cut']);
    expect(Buffer.byteLength(JSON.stringify(lines[0].fields))).toBeLessThanOrEqual(4_096);
    expect(lines.at(-1).message).toMatch(/lines? (were|was) left out here$/);
    expect(lines.length).toBeLessThanOrEqual(LOG_LINES_PER_CALL + 2);
  });

  it('stores what cannot be stored otherwise', async () => {
    const leased = await begun();
    await beat(leased, [line('a\u0000b\ud800c')]);
    expect(messages(await logsOf(leased))[0]).toMatch(/^a.*b.*c$/);
  });

  it('keeps the first and the last half of much, and counts what it did not keep', async () => {
    const leased = await begun();
    const text = 'x'.repeat(1_000);
    let written = 0;
    const write = (count: number): Promise<void> =>
      beat(
        leased,
        Array.from({ length: count }, () => line(`${++written} ${text}`)),
      );
    for (let n = 0; n < 4; n++) await write(50);
    await write(1);
    const { lines, omitted } = await logsOf(leased);
    const numbers = lines.map(({ message }: any) => Number(message.split(' ')[0]));
    expect(numbers).toEqual(lines.map(({ seq }: any) => seq));
    expect(omitted).toBe(written - lines.length);
    expect([numbers[0], numbers.at(-1)]).toEqual([1, written]);
    const bytes = Buffer.byteLength(lines.map(({ message }: any) => message).join('')) + 32 * lines.length;
    expect(bytes).toBeLessThanOrEqual(LOG_ATTEMPT_BYTES);
    expect(bytes).toBeGreaterThan(LOG_ATTEMPT_BYTES - 3_000);
    // One gap, in the middle.
    const gaps = numbers.filter((seq: number, n: number) => n > 0 && seq !== numbers[n - 1] + 1);
    expect(gaps).toHaveLength(1);
  });

  it('keeps the first ten attempts and the last ten', async () => {
    const leased = await begun({ max_retries: 30 });
    for (let attempt = 1; attempt <= 23; attempt++) {
      const each = attempt === 1 ? leased : await leaseOne(worker, leased.job.queue_name);
      await fail(worker, each, { logs: [line(`attempt ${attempt}`)] });
    }
    const page = await logsOf(leased);
    const kept = [...Array.from({ length: 10 }, (_, n) => n + 1), ...Array.from({ length: 10 }, (_, n) => n + 14)];
    expect(messages(page)).toEqual(kept.map((attempt) => `attempt ${attempt}`));
    expect(page.omitted).toBe(3);
  });

  it('comes in pages, with a place to go on until the job has ended', async () => {
    const leased = await begun();
    for (let n = 0; n < 11; n++)
      await beat(
        leased,
        Array.from({ length: 100 }, (_, i) => line(`${n * 100 + i}`)),
      );
    const first = await logsOf(leased);
    expect(first.lines).toHaveLength(LOG_PAGE_LINES);
    const second = await logsOf(leased, `after=${first.next}`, a2);
    expect(messages(second)).toEqual(Array.from({ length: 100 }, (_, n) => `${1_000 + n}`));
    expect(await logsOf(leased, `after=${second.next}`)).toEqual({ lines: [], omitted: 0, next: second.next });
    await complete(worker, leased);
    expect((await logsOf(leased, `after=${second.next}`)).next).toBeUndefined();
    expect((await a.get(`/api/v1/jobs/${leased.job.id}/logs?after=x`)).status).toBe(400);
  });

  it('is followed: who waits is answered when a line comes, and when the job ends', async () => {
    const wait = `wait_secs=${LONGEST_WAIT_SECS}`;
    for (const client of [a, a2]) {
      await inTime(LONGEST_WAIT_SECS, async () => {
        const leased = await begun();
        const { next } = await logsOf(leased, '', client);
        const waiting = logsOf(leased, `after=${next}&${wait}`, client);
        await beat(leased, [line('news')]);
        expect(messages(await waiting)).toEqual(['news']);
      });
    }
    await inTime(LONGEST_WAIT_SECS, async () => {
      const leased = await begun();
      await beat(leased, [line('news')]);
      const { next } = await logsOf(leased);
      const waiting = Promise.all([a, a2].map((client) => logsOf(leased, `after=${next}&${wait}`, client)));
      await complete(worker, leased);
      expect(await waiting).toEqual([
        { lines: [], omitted: 0 },
        { lines: [], omitted: 0 },
      ]);
    });
  });

  it('belongs to its tenant, and is no part of the job or of lists', async () => {
    const leased = await begun();
    await beat(leased, [line('secret')]);
    expect((await b.get(`/api/v1/jobs/${leased.job.id}/logs`)).status).toBe(403);
    expect((await worker.get(`/api/v1/jobs/${leased.job.id}/logs`)).status).toBe(401);
    for (const path of ['not-an-id', '019bd0e5-7c58-7a5f-9c0e-2f9f6a0f8f10'])
      expect((await a.get(`/api/v1/jobs/${path}/logs`)).status).toBe(404);
    for (const path of [`/jobs/${leased.job.id}`, '/jobs'])
      expect((await a.get(`/api/v1${path}`)).text).not.toContain('secret');
  });

  it('costs a job that writes nothing no row', async () => {
    const leased = await begun();
    await beat(leased, []);
    await complete(worker, leased);
    const rows = await database.query('SELECT FROM millrace.log_totals WHERE job_id = $1', [leased.job.id]);
    expect(rows).toEqual([]);
  });

  it.each<[unknown, string]>([
    ['text', 'logs'],
    [[{ level: 'info', message: 'x' }], 'logs[0].at'],
    [[line('x', { level: 'loud' })], 'logs[0].level'],
    [[line('x', { fields: [] })], 'logs[0].fields'],
    [[{ at: AT, level: 'info' }], 'logs[0].message'],
  ])('refuses %j', async (logs, path) => {
    const leased = await begun();
    const { status, body } = await report(worker, 'heartbeat', leased, { extend_secs: 3_600, logs });
    expect([status, body.details[0].path]).toEqual([400, path]);
  });
});
