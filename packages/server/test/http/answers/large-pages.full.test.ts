import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { MAX_PAGE_BYTES } from '../../../src/engine/api.js';
import type { Client } from '../../support/client.js';
import { KEY_A, TENANT_A, useTestServer } from '../../support/server.js';
import { until } from '../../support/until.js';

const MIB = 1024 * 1024;
/** Random text is stored as it is, repeated text shrinks to a hundredth. */
const random = (bytes: number): string =>
  randomBytes(Math.ceil((bytes * 3) / 4))
    .toString('base64')
    .slice(0, bytes);
const repeated = (bytes: number): string => 'x'.repeat(bytes);

interface Item {
  readonly id: string;
}

async function pages(
  client: Client,
  path: string,
  key: string,
  first: string,
): Promise<{ ids: string[]; bytes: number[] }> {
  const ids: string[] = [];
  const bytes: number[] = [];
  for (let cursor: string | undefined = first; cursor !== undefined;) {
    const { text, body } = await client.get(`${path}&cursor=${cursor}`);
    ids.push(...(body[key] as Item[]).map(({ id }) => id));
    bytes.push(text.length);
    expect(body.has_more).toBe(body.next_cursor !== undefined);
    cursor = body.next_cursor as string | undefined;
  }
  return { ids, bytes };
}

describe('pages of large records', async () => {
  const { a, b, url, metricsUrl, database } = await useTestServer({
    config: { maxPayloadBytes: 16 * MIB, mode: 'api' },
  });
  const port = Number(new URL(url).port);

  const create = async (queue: string, text: string, more: object = {}): Promise<string> =>
    (await a.post('/api/v1/jobs', { task_name: 't', config: { queue }, payload: { text }, ...more })).body.job_id;

  /** Many of them, of which only the first is sent. */
  async function createMany(queue: string, count: number, text: string): Promise<void> {
    const first = await create(queue, text);
    const jobs = Array.from({ length: count - 1 }, () => ({ task_name: 't', config: { queue } }));
    await a.post('/api/v1/jobs/batch', { jobs });
    const payload = '(SELECT f.payload FROM millrace.jobs f WHERE f.tenant = $1 AND f.id = $2)';
    await database.query(`UPDATE millrace.jobs SET payload = ${payload} WHERE tenant = $1 AND queue = $3`, [
      TENANT_A,
      first,
      queue,
    ]);
  }

  const unread = async (): Promise<number> =>
    Number(/^millrace_unread_answer_bytes (\d+)/m.exec(await (await fetch(`${metricsUrl}/metrics`)).text())?.[1]);

  /** Asks and reads nothing of the answer. */
  function ask(path: string): Socket {
    const socket = connect(port, '127.0.0.1');
    onTestFinished(() => void socket.destroy());
    socket.on('error', () => undefined);
    socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${KEY_A}\r\n\r\n`);
    return socket;
  }

  it.each([
    ['as they are stored', random],
    ['once they are unpacked', repeated],
  ])('a page by cursor is cut short where records are large %s, and the cursor leads on', async (what, text) => {
    const queue = `cut ${what}`;
    const sizes = [10, 5 * MIB, 1000, 6 * MIB, 6 * MIB, 15 * MIB, 3 * MIB, 10, 10];
    const created: string[] = [];
    for (const size of sizes) created.push(await create(queue, text(size)));
    const path = `/api/v1/jobs?queue=${encodeURIComponent(queue)}&limit=100&order_by=created_at%20ASC`;
    const { next_cursor: first } = (await a.get(path.replace('limit=100', 'limit=1'))).body;
    const { ids, bytes } = await pages(a, path, 'jobs', first);
    expect(ids).toEqual(created.slice(1));
    expect(bytes.length).toBeGreaterThan(2);
    expect(bytes.length).toBeLessThan(6);
    for (const size of bytes) expect(size).toBeLessThan(MAX_PAGE_BYTES + MIB);
  });

  it('a record larger than a page still comes, alone', async () => {
    const queue = 'larger';
    const body = (n: number) => ({ metadata: { text: repeated(7 * MIB) }, payload: { n, text: random(8 * MIB) } });
    for (const n of [1, 2]) await create(queue, '', body(n));
    const small = await create(queue, 'small');
    const path = `/api/v1/jobs?queue=${queue}&limit=100`;
    const { next_cursor: first } = (await a.get(`/api/v1/jobs?queue=${queue}&limit=1`)).body;
    expect((await a.get(`/api/v1/jobs?queue=${queue}&limit=1`)).body.jobs[0].id).toBe(small);
    const { ids, bytes } = await pages(a, path, 'jobs', first);
    expect([ids.length, bytes.length]).toEqual([2, 2]);
  });

  it('a page by offset is complete, and as it was stored', async () => {
    const queue = 'complete';
    const texts = [random(9 * MIB), 'small', repeated(9 * MIB), 'ü"\\'.repeat(MIB), random(100), 'last'];
    const created: string[] = [];
    for (const text of texts) created.push(await create(queue, text));
    const page = (await a.get(`/api/v1/jobs?queue=${queue}&order_by=created_at%20ASC&limit=5&offset=0&include_total=1`))
      .body;
    expect((page.jobs as Item[]).map(({ id }) => id)).toEqual(created.slice(0, 5));
    expect(
      page.jobs.map(
        (job: { payload: { text: string } }) =>
          job.payload.text === texts[created.indexOf((job as unknown as Item).id)],
      ),
    ).toEqual([true, true, true, true, true]);
    expect(page).toMatchObject({ limit: 5, offset: 0, has_more: true, total: 6, next_cursor: expect.any(String) });
    const last = (
      await a.get(`/api/v1/jobs?queue=${queue}&order_by=created_at%20ASC&limit=5&cursor=${page.next_cursor}`)
    ).body;
    expect((last.jobs as Item[]).map(({ id }) => id)).toEqual([created[5]]);
    const second = (await a.get(`/api/v1/jobs?queue=${queue}&order_by=created_at%20ASC&limit=3&offset=3`)).body;
    expect((second.jobs as Item[]).map(({ id }) => id)).toEqual(created.slice(3));
    expect(second.has_more).toBe(false);
    expect((await a.send('HEAD', `/api/v1/jobs?queue=${queue}`)).status).toBe(200);
  });

  it('holds for workflows and schedules too', async () => {
    const created = { workflows: [] as string[], crons: [] as string[] };
    for (let n = 0; n < 4; n++) {
      const payload = { text: n % 2 ? random(7 * MIB) : repeated(7 * MIB) };
      const workflow = { name: 'w', context: payload, steps: [{ name: 's', task_name: 't' }] };
      created.workflows.push((await a.post('/api/v1/workflows', workflow)).body.workflow_id);
      const cron = { name: `c${n}`, cron_expr: '0 0 1 1 *', task_name: 't', payload };
      created.crons.push((await a.post('/api/v1/cron', cron)).body.cron_id);
    }
    for (const [path, key] of [
      ['/api/v1/workflows', 'workflows'],
      ['/api/v1/cron', 'crons'],
    ] as const) {
      const all = (await a.get(`${path}?order_by=created_at%20ASC`)).body;
      expect((all[key] as Item[]).map(({ id }) => id)).toEqual(created[key]);
      const { next_cursor: first } = (await a.get(`${path}?limit=1&order_by=created_at%20ASC`)).body;
      const { ids, bytes } = await pages(a, `${path}?order_by=created_at%20ASC`, key, first);
      expect([ids, bytes.length]).toEqual([created[key].slice(1), 2]);
    }
  });

  it('answers that nobody reads are bounded, and hold up nobody else', async () => {
    const queue = 'unread';
    await createMany(queue, 12, random(8 * MIB));
    const sockets = Array.from({ length: 24 }, () => ask(`/api/v1/jobs?queue=${queue}&limit=100`));
    const refused = new Set<Socket>();
    for (const socket of sockets) {
      socket.once('readable', () => {
        const start = (socket.read(12) as Buffer | null)?.toString();
        if (start === 'HTTP/1.1 503') refused.add(socket);
      });
    }
    const largest = { bytes: 0 };
    await until(async () => {
      largest.bytes = Math.max(largest.bytes, await unread());
      // A machine that is held up may keep the database from answering in time.
      await until(async () => (await b.post('/api/v1/jobs', { task_name: 't' })).status === 201);
      await until(async () => (await b.get('/api/v1/jobs')).status === 200);
      return refused.size >= 16 || `only ${refused.size} were refused`;
    });
    expect(largest.bytes).toBeGreaterThan(MAX_PAGE_BYTES);
    expect(largest.bytes).toBeLessThan(6 * MAX_PAGE_BYTES);
    for (const socket of sockets) socket.destroy();
    await until(async () => (await unread()) === 0, { what: 'the room of those who left' });
    expect((await a.get(`/api/v1/jobs?queue=${queue}&limit=1`)).status).toBe(200);
  });

  it('the same job asked for again and again, and never read, is bounded as well', async () => {
    const id = await create('single', repeated(15 * MIB));
    const sockets = Array.from({ length: 12 }, () => ask(`/api/v1/jobs/${id}`));
    const heads = await Promise.all(
      sockets.map(async (socket) => {
        await once(socket, 'readable');
        return (socket.read(12) as Buffer).toString();
      }),
    );
    expect(heads.filter((head) => head === 'HTTP/1.1 200').length).toBeGreaterThan(0);
    expect(heads.filter((head) => head === 'HTTP/1.1 503').length).toBeGreaterThan(5);
    expect((await b.get('/api/v1/jobs')).status).toBe(200);
  });
});
