import type { QueueDepth, Queues } from '@millrace/contract';
import { describe, expect, it } from 'vitest';
import type { Client } from '../../support/client.js';
import { startTestServer, TENANT_A, TENANT_B, useTestServer } from '../../support/server.js';
import { cancel, createJob, newQueue } from '../kit.js';

/** What a page of queues holds at most, and what any other answer that is not paged names at most. */
const MOST = 1000;

const { a, b, admin, database } = await useTestServer({ config: { mode: 'api' } });

/** A job on each of as many queues, called by an SQL expression over `n`. */
async function fill(tenant: string, count: number, name: string): Promise<void> {
  await database.query(
    `WITH made AS (
       SELECT (millrace.id_prefix(now()) || '80000000' || lpad(to_hex(n), 8, '0'))::uuid AS id, ${name} AS queue
       FROM generate_series(1, $2::int) AS n
     ), stored AS (
       INSERT INTO millrace.jobs (created_at, priority, id, tenant, queue, task, payload)
       SELECT now(), 0, id, $1, queue, 'task', '{}' FROM made
     )
     INSERT INTO millrace.ready (scheduled_at, priority, retry_count, delivery_count, id, tenant, queue)
     SELECT now(), 0, 0, 0, id, $1, queue FROM made`,
    [tenant, count],
  );
}

async function pagesOf(client: Client, query = ''): Promise<Queues[]> {
  const pages: Queues[] = [];
  for (let cursor = ''; ;) {
    const reply = await client.get(`/api/v1/queues?${query}${cursor}`);
    expect(reply.status, reply.text).toBe(200);
    const page = reply.body as Queues;
    pages.push(page);
    if (page.next_cursor === undefined) return pages;
    cursor = `&cursor=${page.next_cursor}`;
  }
}

const namesOf = (pages: readonly Queues[]): string[] =>
  pages.flatMap(({ queues }) => queues.map(({ queue }: QueueDepth) => queue));

describe('a tenant with a thousand queues', () => {
  it('gets them all at once, in an answer that has nothing else', async () => {
    await fill(TENANT_B, MOST, "'b-' || lpad(n::text, 4, '0')");
    const { body } = await b.get('/api/v1/queues');
    expect(Object.keys(body as object)).toEqual(['queues']);
    expect(namesOf([body as Queues])).toEqual(
      Array.from({ length: MOST }, (_, i) => `b-${String(i + 1).padStart(4, '0')}`),
    );
  });
});

describe('a tenant with more queues', async () => {
  await fill(TENANT_A, 2_500, "'a-' || lpad(n::text, 4, '0')");
  const all = Array.from({ length: 2_500 }, (_, i) => `a-${String(i + 1).padStart(4, '0')}`);

  it('gets them page by page, each once and in order', async () => {
    const pages = await pagesOf(a);
    expect(pages.map(({ queues, has_more }) => [queues.length, has_more])).toEqual([
      [MOST, true],
      [MOST, true],
      [500, undefined],
    ]);
    expect(namesOf(pages)).toEqual(all);
    expect(namesOf(await pagesOf(a, 'limit=900'))).toEqual(all);
    expect(namesOf([(await a.get('/api/v1/queues?limit=3')).body as Queues])).toEqual(all.slice(0, 3));
  });

  it('gets idle ones among them, on full pages', async () => {
    await database.query(
      `INSERT INTO millrace.series_names (tenant, queue, task)
       SELECT $1, 'a-' || lpad((25 * n)::text, 4, '0') || '+', 'task' FROM generate_series(1, 99) AS n`,
      [TENANT_A],
    );
    // There is no room for more names: what happens now is added up under one that is no queue's.
    const other = await startTestServer({ config: { mode: 'api' }, database });
    await cancel(other.a, await createJob(other.a, 'a-unnamed'));
    await other.stop();
    const idle = Array.from({ length: 99 }, (_, i) => `a-${String(25 * (i + 1)).padStart(4, '0')}+`);
    const pages = await pagesOf(a, 'idle=true');
    expect(pages.map(({ queues }) => queues.length)).toEqual([MOST, MOST, 599]);
    expect(namesOf(pages)).toEqual([...all, ...idle].sort());
    expect(namesOf(await pagesOf(a, 'idle=true&limit=130'))).toEqual([...all, ...idle].sort());
    expect((await pagesOf(a)).map(({ queues }) => queues.length)).toEqual([MOST, MOST, 500]);
    expect(namesOf(await pagesOf(a, 'limit=900'))).toEqual(all);
  });

  it('is told of each of them by name, also of those that no longer fit the first page', async () => {
    for (const queue of ['a-0001', 'a-2500']) {
      expect((await a.get(`/api/v1/queues/${queue}`)).body).toMatchObject({ queue, pending: 1, running: 0 });
    }
    expect((await a.get('/api/v1/queues/a-9999')).body).toMatchObject({ queue: 'a-9999', pending: 0 });
  });

  it('is told of a limit out of range, and refused a cursor of another list', async () => {
    expect((await a.get('/api/v1/queues?limit=1001')).body.warnings).toEqual([
      'limit is out of range (1 to 1000): 1000 is used',
    ]);
    expect((await a.get('/api/v1/queues?limit=0', { prefer: 'handling=strict' })).status).toBe(400);
    const cursor = (await a.get('/api/v1/jobs?limit=1')).body.prev_cursor as string;
    expect((await a.get(`/api/v1/queues?cursor=${cursor}x`)).status).toBe(400);
  });

  it('does not get more than two megabytes, whatever it calls them', async () => {
    // Each of these characters takes six bytes of JSON, and no name is longer.
    await fill(TENANT_A, MOST, "repeat(chr(1), 251) || lpad(n::text, 4, '0')");
    const { text, body } = await a.get('/api/v1/queues');
    expect(body.queues).toHaveLength(MOST);
    expect(text.length).toBeLessThan(2_000_000);
  });
});

describe('every other list that is not paged', () => {
  it('names a thousand at most', async () => {
    const queue = newQueue();
    await createJob(a, queue);
    await database.query(
      `INSERT INTO millrace.workers (at, last_seen_at, completed, failed, expired, tenant, worker, queue)
       SELECT to_timestamp(floor(extract(epoch FROM now()) / 300) * 300), now(), 1, 0, 0, $1, 'worker-' || n, 'q'
       FROM generate_series(1, 1500) AS n`,
      [TENANT_A],
    );
    await database.query(
      `INSERT INTO millrace.queues (paused_at, queue) SELECT now(), 'paused-' || n FROM generate_series(1, 1500) AS n`,
    );
    expect((await a.get('/api/v1/workers')).body.workers).toHaveLength(MOST);
    expect((await admin.get('/api/v1/admin/workers')).body.workers).toHaveLength(MOST);
    expect((await admin.get('/api/v1/admin/queues')).body.queues).toHaveLength(MOST);
    expect((await admin.get('/api/v1/admin/overview')).body.paused_queues).toHaveLength(MOST);
  });

  it('names ten thousand tasks at most', async () => {
    await database.query(
      `INSERT INTO millrace.processes (seen_at, id, tasks)
       SELECT now(), gen_random_uuid(), ARRAY(SELECT 'task-' || p || '-' || n FROM generate_series(1, 1000) AS n)
       FROM generate_series(1, 11) AS p`,
    );
    expect((await a.get('/api/v1/tasks')).body.tasks.length).toBeLessThan(10_100);
  });

  it('shows the beginning of the errors of a workflow with many steps', async () => {
    const steps = Array.from({ length: 3 }, (_, i) => ({ name: `s${i}`, task_name: 't', on_failure: 'continue' }));
    const { body } = await a.post('/api/v1/workflows', { name: 'w', steps });
    await database.query(`UPDATE millrace.ready SET error = repeat('x', 65536) WHERE workflow_id = $1`, [
      body.workflow_id,
    ]);
    const shown = (await a.get(`/api/v1/workflows/${body.workflow_id}/steps`)).body.steps as {
      error_message: string;
    }[];
    expect(shown.map(({ error_message: error }) => error.length)).toEqual([2000, 2000, 2000]);
  });
});
