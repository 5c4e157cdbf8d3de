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
