import type { DeadLetterGroup, DeadLetterGroups } from '@millrace/contract';
import { describe, expect, it } from 'vitest';
import { TENANT_A, useTestServer } from '../../support/server.js';

/** More entries than a page walks, each with an error of its own: more groups than are looked at one by one. */
const ENTRIES = 25_000;

describe('groups of a tenant whose errors are all different', async () => {
  const { a, b, database } = await useTestServer({ config: { mode: 'api' } });
  // Numbers are taken out of errors, so they are spelt in letters. Every thousandth is of a task and queue of its own,
  // and these fail in five ways.
  await database.query(
    `INSERT INTO millrace.dead_letters (created_at, job_id, reason, tenant, queue, task, error)
     SELECT now() - n * interval '1 second', gen_random_uuid(), 'non_retryable', $1,
            CASE WHEN n % 1000 = 0 THEN 'rare' ELSE 'usual' END, CASE WHEN n % 1000 = 0 THEN 'odd' ELSE 'plain' END,
            CASE WHEN n % 1000 = 0 THEN translate((n / 1000 % 5)::text, '01234', 'vwxyz')
                 ELSE translate(n::text, '0123456789', 'abcdefghij') END
     FROM generate_series(1, $2::int) AS n`,
    [TENANT_A, ENTRIES],
  );

  async function pagesOf(query: string): Promise<DeadLetterGroups[]> {
    const pages: DeadLetterGroups[] = [];
    for (let cursor = ''; ;) {
      const reply = await a.get(`/api/v1/dlq/groups?${query}${cursor}`);
      expect(reply.status, reply.text).toBe(200);
      const page = reply.body as DeadLetterGroups;
      pages.push(page);
      expect(page.next_cursor !== undefined).toBe(page.has_more);
      if (!page.has_more) return pages;
      cursor = `&cursor=${page.next_cursor}`;
    }
  }
  const groupsOf = (pages: readonly DeadLetterGroups[]): DeadLetterGroup[] => pages.flatMap(({ groups }) => groups);

  it('come with the newest entry first, and full pages where there are enough of them', async () => {
    const { body } = await a.get('/api/v1/dlq/groups?limit=100');
    expect(body).toMatchObject({ has_more: true, next_cursor: expect.any(String) });
    expect(body).not.toHaveProperty('searched_to');
    const found = body.groups as DeadLetterGroup[];
    expect(new Set(found.map(({ fingerprint }) => fingerprint)).size).toBe(100);
    expect(found.map(({ message }) => message).slice(0, 3)).toEqual(['b', 'c', 'd']);
    const times = found.map(({ last_at: at }) => Date.parse(at));
    expect(times).toEqual([...times].sort((one, other) => other - one));
  });

  it.each(['task_name=odd', 'queue_name=rare'])(
    'are found by %s, each once, with all of its entries',
    async (filter) => {
      const pages = await pagesOf(`${filter}&limit=3`);
      expect(groupsOf(pages).map(({ message, count }) => [message, count])).toEqual([
        ['w', 5],
        ['x', 5],
        ['y', 5],
        ['z', 5],
        ['v', 5],
      ]);
    },
  );

  it('are found by whether they were replayed, by what is left of them', async () => {
    await database.query(
      `UPDATE millrace.dead_letters SET replayed_at = now(), replay_job_id = gen_random_uuid()
       WHERE task = 'odd' AND (error = 'w' OR created_at > (SELECT max(created_at) FROM millrace.dead_letters)
                                                           - interval '5500 seconds')`,
    );
    const found = async (replayed: boolean) =>
      groupsOf(await pagesOf(`task_name=odd&replayed=${replayed}&limit=3`)).map(({ message, count, open }) => [
        ...[message, count, open],
      ]);
    expect(await found(false)).toEqual([
      ['x', 4, 4],
      ['y', 4, 4],
      ['z', 4, 4],
      ['v', 4, 4],
    ]);
    expect(await found(true)).toEqual([
      ['w', 5, 0],
      ['x', 1, 0],
      ['y', 1, 0],
      ['z', 1, 0],
      ['v', 1, 0],
    ]);
    await database.query('UPDATE millrace.dead_letters SET replayed_at = NULL, replay_job_id = NULL');
  });

  it('say how far the search got where it reached its bound', async () => {
    const pages = await pagesOf('task_name=odd');
    const searched = pages.flatMap(({ searched_to: to }) => (to === undefined ? [] : [Date.parse(to)]));
    expect(searched.length).toBeGreaterThan(0);
    expect(searched).toEqual([...searched].sort((one, other) => other - one));
    expect(pages.at(-1)).not.toHaveProperty('searched_to');
  });

  it('end where the entries that are asked for end', async () => {
    const [{ created_at: third } = { created_at: '' }] = await database.query<{ created_at: string }>(
      `SELECT to_json(created_at)#>>'{}' AS created_at FROM millrace.dead_letters ORDER BY created_at DESC OFFSET 2 LIMIT 1`,
    );
    const pages = await pagesOf(`since=${encodeURIComponent(third)}`);
    expect(groupsOf(pages)).toHaveLength(3);
    expect(pages).toHaveLength(1);
    expect((await b.get('/api/v1/dlq/groups')).body).toEqual({ groups: [], has_more: false });
  });
});
