import { randomBytes } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { useTestServer } from '../../support/server.js';
import { createJob, createJobs, fail, leaseOne, newQueue } from '../kit.js';

/** Every list pages in both directions. */
describe('pages before a cursor', async () => {
  const { a, b, worker } = await useTestServer({ config: { mode: 'api' } });
  const queue = newQueue();
  let cronId: string;

  beforeAll(async () => {
    await createJobs(a, queue, 23);
    for (let n = 0; n < 23; n++) {
      await a.post('/api/v1/workflows', { name: 'w', steps: [{ name: 's', task_name: 't' }] });
      const cron = { name: `c${n}`, cron_expr: n % 3 === 0 ? '@yearly' : '@hourly', task_name: 't', queue: 'crons' };
      const { cron_id: id } = (await a.post('/api/v1/cron', cron)).body;
      if (n % 5 === 0) await a.post(`/api/v1/cron/${id}/pause`);
      cronId = id;
    }
    for (let n = 0; n < 23; n++) await a.post(`/api/v1/cron/${cronId}/trigger`);
    await createJobs(b, queue, 23);
  });

  const LISTS: readonly (readonly [path: string, key: string])[] = [
    [`jobs?queue=${queue}`, 'jobs'],
    [`jobs?queue=${queue}&order_by=created_at ASC`, 'jobs'],
    [`jobs?queue=${queue}&status=pending,completed`, 'jobs'],
    [`jobs?queue=${queue}&task=task`, 'jobs'],
    ['workflows?view=summary', 'workflows'],
    ['workflows?name=w&order_by=created_at ASC', 'workflows'],
    ['cron?order_by=created_at DESC', 'crons'],
    ['cron?order_by=next_run_at ASC', 'crons'],
  ];

  const read = async (path: string, query = ''): Promise<any> => {
    const reply = await a.get(`/api/v1/${path}${query}`);
    expect(reply.status, reply.text).toBe(200);
    return reply.body;
  };

  async function turnedRound(path: string, key: string): Promise<void> {
    const idOf = (item: { id?: string; job_id?: string }): string => (item.id ?? item.job_id)!;
    const all = ((await read(path, '&limit=100'))[key] as object[]).map(idOf);
    expect(all).toHaveLength(23);
    const forward: string[][] = [];
    let page = await read(path, '&limit=5');
    for (;;) {
      forward.push(page[key].map(idOf));
      if (!page.has_more) break;
      page = await read(path, `&limit=5&cursor=${page.next_cursor}`);
    }
    expect(forward.flat()).toEqual(all);
    const backward: string[][] = [forward.at(-1)!];
    for (;;) {
      page = await read(path, `&limit=5&offset=3&cursor=${page.prev_cursor}`);
      expect([page.has_more, page.offset]).toEqual([true, 0]);
      if (page[key].length === 0) break;
      backward.unshift(page[key].map(idOf));
      // Forward again from a backward page: what was read before it.
      const again = await read(path, `&limit=5&cursor=${page.next_cursor}`);
      expect(again[key].map(idOf)).toEqual(all.slice(all.indexOf(page[key].map(idOf).at(-1)) + 1).slice(0, 5));
    }
    expect(backward).toEqual(forward);
    expect(page).not.toHaveProperty('prev_cursor');
    // Before the first there is nothing, and after that comes the list from its start.
    expect((await read(path, `&limit=5&cursor=${page.next_cursor}`))[key].map(idOf)).toEqual(all.slice(0, 5));
  }

  it.each(LISTS)('of %s come in the order of the list, to its start', async (path, key) => {
    await turnedRound(path, key);
  });

  it('of firings do so too', async () => {
    await turnedRound(`cron/${cronId}/firings?order_by=created_at DESC`, 'firings');
    await turnedRound(`cron/${cronId}/firings?order_by=created_at ASC`, 'firings');
  });

  it('of dead letters do so too, with and without a filter', async () => {
    const doomed = newQueue();
    await createJobs(a, doomed, 23);
    for (let n = 0; n < 23; n++) await fail(worker, await leaseOne(worker, doomed), { retryable: false });
    await turnedRound('dlq?order_by=created_at DESC', 'dead_letters');
    await turnedRound(`dlq?queue_name=${doomed}&order_by=created_at ASC`, 'dead_letters');
  });

  it('show what was added in the meantime', async () => {
    const watched = newQueue();
    const [first] = await createJobs(a, watched, 1);
    const page = await read(`jobs?queue=${watched}`);
    const added = await createJobs(a, watched, 3);
    const newer = await read(`jobs?queue=${watched}`, `&cursor=${page.prev_cursor}`);
    expect(newer.jobs.map(({ id }: { id: string }) => id)).toEqual(added.toReversed());
    const after = await read(`jobs?queue=${watched}`, `&cursor=${newer.next_cursor}`);
    expect(after.jobs.map(({ id }: { id: string }) => id)).toEqual([first]);
    // Nobody else gets to see any of it.
    const theirs = await b.get(`/api/v1/jobs?queue=${watched}&cursor=${page.prev_cursor}`);
    expect(theirs.body.jobs).toEqual([]);
  });

  it('are cut where records are large, on the far side, and go on from there', async () => {
    const large = newQueue();
    const made: string[] = [];
    for (let n = 0; n < 7; n++) {
      const text = randomBytes(3_000_000 * (n % 2 ? 1 : 0)).toString('base64');
      made.push(await createJob(a, large, { payload: { n, text } }));
    }
    const oldest = `jobs?queue=${large}&order_by=created_at ASC`;
    const last = await read(oldest, '&limit=1&offset=6');
    const seen: string[] = [];
    let pages = 0;
    for (let cursor = last.prev_cursor as string | undefined; cursor !== undefined; pages++) {
      const page = await read(oldest, `&limit=100&cursor=${cursor}`);
      expect(JSON.stringify(page).length).toBeLessThan(17 * 1024 * 1024);
      seen.unshift(...page.jobs.map(({ id }: { id: string }) => id));
      cursor = page.prev_cursor;
    }
    expect(seen).toEqual(made.slice(0, 6));
    expect(pages).toBeGreaterThan(1);
  });

  it('cursors of earlier versions still lead on, and what is no cursor is refused', async () => {
    const cursor = (...parts: unknown[]): string => Buffer.from(JSON.stringify(parts)).toString('base64url');
    const all = (await read(`jobs?queue=${queue}`)).jobs as { id: string }[];
    const next = await read(`jobs?queue=${queue}`, `&cursor=${cursor(all[4]!.id)}`);
    expect(next.jobs.map(({ id }: { id: string }) => id)).toEqual(all.slice(5).map(({ id }) => id));
    const id = all[0]!.id;
    for (const parts of [['<'], [id, '>'], [id, '<', '<'], [id, '+'], [id, '+', -1], [id, '+', 'x'], [id, '<', 3]]) {
      expect((await a.get(`/api/v1/jobs?cursor=${cursor(...parts)}`)).status, JSON.stringify(parts)).toBe(400);
    }
    for (const path of ['dlq', 'workflows', 'cron', `cron/${cronId}/firings`]) {
      expect((await a.get(`/api/v1/${path}?cursor=${cursor('x', '<')}`)).status).toBe(400);
    }
  });
});
