import { WALK_LIMIT, type Job } from '@millrace/contract';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Client } from '../../support/client.js';
import { TENANT_A, TENANT_B, useTestServer } from '../../support/server.js';
import { cancel, comparable, createJob } from '../kit.js';

/** More than a page may walk. */
const COMMON = WALK_LIMIT + 5_000;

interface Searched {
  readonly found: string[];
  readonly pages: any[];
}

describe('a search for a task', async () => {
  const { a, b, database } = await useTestServer({ config: { mode: 'api' } });

  /** Jobs that ended a day ago: one per millisecond, the first of them so many milliseconds before that. */
  const add = (tenant: string, count: number, task: string, status: string, firstMs: number): Promise<unknown> =>
    database.query(
      `WITH made AS (
         SELECT n, now() - interval '1 day' - ($5::int - n) * interval '1 millisecond' AS at
         FROM generate_series(1, $2::int) AS n
       ), stored AS (
         INSERT INTO millrace.jobs (created_at, priority, id, tenant, queue, task, payload)
         SELECT at, 0, (millrace.id_prefix(at) || '8000' || lpad(to_hex(n), 12, '0'))::uuid, $1, 'mill', $3, '{}' FROM made
         RETURNING id, created_at
       )
       INSERT INTO millrace.done (completed_at, retry_count, delivery_count, status, id, tenant, result)
       SELECT created_at, 0, 1, $4::millrace.job_status, id, $1, CASE WHEN $4 = 'completed' THEN '{}'::json END FROM stored`,
      [tenant, count, task, status, firstMs],
    );

  /** Newest first. */
  let rare: string[];
  beforeAll(async () => {
    await createJob(a, 'mill', { task_name: 'first' });
    await add(TENANT_A, 1, 'rare', 'failed', COMMON + 3);
    await add(TENANT_A, 1, 'rare', 'completed', COMMON + 2);
    await add(TENANT_A, COMMON, 'common', 'completed', COMMON);
    await add(TENANT_A, 2, 'rare', 'completed', -10);
    await add(TENANT_B, 1, 'rare', 'completed', 0);
    await database.query('ANALYZE millrace.jobs, millrace.done');
    rare = (await search('task=rare&limit=100')).found;
  });

  /** All pages of a list. */
  async function search(query: string, client: Client = a): Promise<Searched> {
    const pages: any[] = [];
    const found: string[] = [];
    for (let cursor = ''; ;) {
      const reply = await client.get(`/api/v1/jobs?${query}${cursor}`);
      expect(reply.status, reply.text).toBe(200);
      pages.push(reply.body);
      found.push(...reply.body.jobs.map((job: Job) => job.id));
      if (!reply.body.has_more) return { found, pages };
      cursor = `&cursor=${reply.body.next_cursor}`;
    }
  }

  it('comes back short when it has walked far, says how far, and its cursor leads on to the rest', async () => {
    const { found, pages } = await search('task=rare&limit=100');
    expect(found).toHaveLength(4);
    expect(pages.length).toBeGreaterThan(1);
    expect(pages[0].jobs).toHaveLength(2);
    for (const page of pages.slice(0, -1)) {
      expect(page).toMatchObject({ has_more: true, next_cursor: expect.any(String), searched_to: expect.any(String) });
    }
    const ends = pages.slice(0, -1).map((page) => comparable(page.searched_to as string));
    expect(ends).toEqual([...ends].sort().reverse());
    expect(pages.at(-1)).toMatchObject({ has_more: false });
    expect(pages.at(-1)).not.toHaveProperty('searched_to');
  });

  it('goes the other way as well', async () => {
    const { found, pages } = await search('task=rare&order_by=created_at ASC');
    expect(found).toEqual(rare.toReversed());
    expect(pages.length).toBeGreaterThan(1);
  });

  it('is full where enough match, and says nothing of a bound', async () => {
    const page = (await a.get('/api/v1/jobs?task=common&limit=100')).body;
    expect(page.jobs).toHaveLength(100);
    expect(page).toMatchObject({ has_more: true });
    expect(page).not.toHaveProperty('searched_to');
    const next = (await a.get(`/api/v1/jobs?task=common&limit=100&cursor=${page.next_cursor}`)).body;
    expect(new Set([...page.jobs, ...next.jobs].map((job: Job) => job.id)).size).toBe(200);
  });

  it('walks backwards from a cursor, past its bound too, and each page is in the order of the list', async () => {
    const { pages } = await search('task=rare&limit=100');
    const last = pages.at(-1);
    const oldest = last.jobs.map((job: Job) => job.id) as string[];
    expect(oldest).toEqual(rare.slice(2));
    const before: string[] = [];
    for (let cursor = last.prev_cursor as string | undefined; cursor !== undefined;) {
      const page = (await a.get(`/api/v1/jobs?task=rare&limit=100&cursor=${cursor}`)).body;
      expect(page.has_more).toBe(true);
      before.unshift(...page.jobs.map((job: Job) => job.id));
      cursor = page.prev_cursor;
      if (page.jobs.length === 0 && cursor !== undefined) expect(page.searched_to).toEqual(expect.any(String));
    }
    expect(before).toEqual(rare.slice(0, 2));
  });

  it('skips by offset what matches, on whichever page that is', async () => {
    for (const offset of [1, 3, 4]) {
      expect((await search(`task=rare&limit=100&offset=${offset}`)).found).toEqual(rare.slice(offset));
    }
  });

  it('looks among those of a state, of several, and of a queue', async () => {
    const [, , , failed] = rare;
    expect((await search('task=rare&status=failed')).found).toEqual([failed]);
    expect((await search('task=rare&status=completed,failed')).found).toEqual(rare);
    expect((await search('task=rare&status=completed,pending&queue=mill')).found).toEqual(rare.slice(0, 3));
    expect((await search('task=rare&queue=mill')).found).toEqual(rare);
    expect((await search('task=rare&queue=other')).found).toEqual([]);
    expect((await search('task=rare&status=pending,retrying,running,cancelled')).found).toEqual([]);
    expect((await search(`task=rare&created_after=2999-01-01T00:00:00Z`)).found).toEqual([]);
    expect((await a.get('/api/v1/jobs?task=rare&status=completed&queue=mill&include_total=true')).body.total).toBe(3);
    expect((await a.get('/api/v1/jobs?task=rare&include_total=true')).body.total).toBe(4);
  });

  it('sees those that wait, and only those of its tenant', async () => {
    const id = await createJob(a, 'mill', { task_name: 'waiting' });
    for (const query of ['', '&status=pending', '&status=pending,failed', '&queue=mill&view=summary']) {
      const { jobs } = (await a.get(`/api/v1/jobs?task=waiting${query}`)).body;
      expect(jobs.map((job: Job) => job.id)).toEqual([id]);
    }
    await cancel(a, id);
    const theirs = await search('task=rare', b);
    expect(theirs.found).toHaveLength(1);
    expect(rare).not.toContain(theirs.found[0]);
  });
});
