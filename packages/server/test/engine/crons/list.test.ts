import { describe, expect, it } from 'vitest';
import { useTestServer } from '../../support/server.js';

/** Listing schedules: the rules of every list, on another table. */
const { a, b } = await useTestServer({ config: { mode: 'api' } });

interface Item {
  readonly id: string;
  readonly name: string;
  readonly created_at: string;
}

const list = async (query = ''): Promise<any> => {
  const reply = await a.get(`/api/v1/cron${query}`);
  expect(reply.status, reply.text).toBe(200);
  return reply.body;
};
const names = (page: { crons: Item[] }): string[] => page.crons.map((cron) => cron.name);

const ALL = Array.from({ length: 25 }, (_, n) => `s${String(n).padStart(2, '0')}`);
for (const name of ALL) {
  await a.post('/api/v1/cron', { name, cron_expr: '@yearly', task_name: 't', queue: name });
}
await b.post('/api/v1/cron', { name: 'theirs', cron_expr: '@yearly', task_name: 't' });

describe('a page', () => {
  it('is newest first and says what was applied', async () => {
    const page = await list();
    expect(names(page)).toEqual(ALL.toReversed());
    expect(page).toMatchObject({ limit: 50, offset: 0, has_more: false });
    expect(page).not.toHaveProperty('next_cursor');
    expect(page).not.toHaveProperty('total');
  });

  it.each([
    ['?order_by=created_at+ASC', ALL],
    ['?order_by=created_at%20DESC', ALL.toReversed()],
  ])('leads by cursor to the end: %s', async (query, expected) => {
    const seen: string[] = [];
    let cursor = '';
    for (;;) {
      const page = await list(`${query}&limit=7&include_total=true${cursor}`);
      seen.push(...names(page));
      expect(page.total).toBe(ALL.length);
      if (!page.has_more) break;
      cursor = `&offset=5&cursor=${page.next_cursor}`;
    }
    expect(seen).toEqual(expected);
  });

  it('has no successor if it holds exactly what is left', async () => {
    expect(await list('?limit=25')).not.toHaveProperty('next_cursor');
    expect((await list('?limit=24')).has_more).toBe(true);
  });

  it('clamps its size and skips by offset', async () => {
    expect(await list('?limit=0')).toMatchObject({ limit: 1 });
    expect(await list('?limit=1000')).toMatchObject({ limit: 100 });
    expect(names(await list('?offset=20&order_by=created_at ASC'))).toEqual(ALL.slice(20));
  });

  it('ignores status and queue', async () => {
    for (const query of ['?status=enabled', '?status=nonsense', '?queue=s01', '?status=pending&queue=x']) {
      expect(names(await list(query))).toEqual(ALL.toReversed());
    }
  });

  it('filters created_at by the range [after, before)', async () => {
    const { crons } = await list('?order_by=created_at ASC');
    const { created_at } = crons[10] as Item;
    const after = names(await list(`?order_by=created_at ASC&created_after=${created_at}`));
    const before = names(await list(`?order_by=created_at ASC&created_before=${created_at}`));
    expect([...before, ...after]).toEqual(ALL);
    expect(after[0]).toBe(ALL[10]);
    expect((await list(`?created_after=${created_at}&include_total=1`)).total).toBe(15);
  });

  it.each(['limit=x', 'offset=1.5', 'order_by=name', 'cursor=nonsense', 'cursor=WzFd', 'created_after=today'])(
    'refuses %s',
    async (query) => expect((await a.get(`/api/v1/cron?${query}`)).status).toBe(400),
  );
});

describe('in the order of what fires next', () => {
  const next = (page: { crons: any[] }): (string | null)[] =>
    page.crons.map((each) => (each.enabled ? each.next_run_at : null));
  const walk = async (query: string): Promise<any[]> => {
    const seen: any[] = [];
    for (let cursor = ''; ;) {
      const page = await list(`?order_by=next_run_at+ASC&${query}${cursor}`);
      seen.push(...page.crons);
      if (!page.has_more) return seen;
      cursor = `&cursor=${page.next_cursor}`;
    }
  };

  it('is total, has a cursor, and ends with what is paused', async () => {
    const soon = ['0 0 * * *', '0 0 1 * *', '0 0 * * *', '30 12 15 * *'];
    for (const [n, cron_expr] of soon.entries())
      await a.post('/api/v1/cron', { name: `due-${n}`, cron_expr, task_name: 't' });
    const all = (await list('?limit=100')).crons;
    for (const name of ['s03', 's04', 's20', 'due-0'])
      await a.post(`/api/v1/cron/${all.find((each: Item) => each.name === name).id}/pause`);

    for (const limit of [100, 5, 1]) {
      const seen = await walk(`limit=${limit}`);
      expect(seen).toHaveLength(ALL.length + soon.length);
      expect(new Set(seen.map((each) => each.id)).size).toBe(seen.length);
      const key = (each: any): string => `${each.enabled ? each.next_run_at : 'z'} ${each.id}`;
      expect(seen.map(key)).toEqual(seen.map(key).sort());
      expect(seen.slice(-4).every((each) => !each.enabled)).toBe(true);
      expect(seen.slice(0, -4).every((each) => each.enabled)).toBe(true);
    }
    const page = await list('?order_by=next_run_at ASC&limit=3&include_total=true');
    expect(page).toMatchObject({ total: ALL.length + soon.length, limit: 3, has_more: true });
    expect(next(page)[0]).not.toBeNull();
    expect((await list('?order_by=next_run_at%20ASC&offset=27&limit=100')).crons).toHaveLength(2);
  });

  it('takes the range by created_at', async () => {
    const { crons } = await list('?order_by=created_at ASC');
    const { created_at } = crons[10] as Item;
    const after = await walk(`limit=4&created_after=${created_at}`);
    const before = await walk(`limit=4&created_before=${created_at}`);
    expect(before).toHaveLength(10);
    expect(after).toHaveLength(crons.length - 10);
  });

  it('shows each tenant its own', async () => {
    expect(names((await b.get('/api/v1/cron?order_by=next_run_at ASC')).body)).toEqual(['theirs']);
  });

  it('has no other direction, and takes no cursor of another order', async () => {
    const status = async (query: string) => (await a.get(`/api/v1/cron?${query}`)).status;
    expect(await status('order_by=next_run_at DESC')).toBe(400);
    expect(await status('order_by=next_run_at')).toBe(400);
    const other = (await list('?limit=2')).next_cursor;
    const own = (await list('?limit=2&order_by=next_run_at ASC')).next_cursor;
    expect(await status(`order_by=next_run_at ASC&cursor=${other}`)).toBe(400);
    expect(await status(`cursor=${own}`)).toBe(400);
    expect((await a.get('/api/v1/jobs?order_by=next_run_at ASC')).status).toBe(400);
    expect((await a.get(`/api/v1/cron/${(await list()).crons[0].id}/firings?order_by=next_run_at ASC`)).status).toBe(
      400,
    );
  });
});
