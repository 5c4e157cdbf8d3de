import { STEP_STATUSES, WorkflowSummary } from '@millrace/contract';
import { describe, expect, it } from 'vitest';
import { useTestServer } from '../../support/server.js';
import { comparable } from '../kit.js';
import { chain, workflowsOf, hand, step } from './kit.js';

describe('listing workflows', async () => {
  const { a, b, worker } = await useTestServer({ config: { mode: 'api' } });
  const workflows = workflowsOf(a);
  const remote = hand(worker);

  async function page(query: string, client = a): Promise<any> {
    const reply = await client.get(`/api/v1/workflows?${query}`);
    expect(reply.status, reply.text).toBe(200);
    return reply.body;
  }
  const ids = (body: any): string[] => body.workflows.map((each: { id: string }) => each.id);

  /** All pages from a cursor on. */
  async function all(query: string, client = a, from?: string): Promise<any[]> {
    const found: any[] = [];
    for (let cursor = from; ;) {
      const body = await page(cursor === undefined ? query : `${query}&cursor=${encodeURIComponent(cursor)}`, client);
      found.push(...body.workflows);
      expect(body.has_more).toBe(body.next_cursor !== undefined);
      if (!body.has_more) return found;
      cursor = body.next_cursor;
    }
  }

  it('goes through all of them in order, in both directions, while more are created', async () => {
    const created = await Promise.all(Array.from({ length: 45 }, () => workflowsOf(b).create(chain('x'))));
    const oldestFirst = await all('limit=7&order_by=created_at%20ASC', b);
    expect(new Set(oldestFirst.map((each) => each.id))).toEqual(new Set(created));
    const instants = oldestFirst.map((each) => comparable(each.created_at));
    expect(instants).toEqual(instants.toSorted());
    const first = await page('limit=20', b);
    const added = await workflowsOf(b).create(chain('x'));
    const rest = await all('limit=9&offset=5', b, first.next_cursor);
    expect([...first.workflows, ...rest].map((each: any) => each.id)).toEqual(
      oldestFirst.map((each) => each.id as string).reverse(),
    );
    expect(ids(await page('limit=1', b))).toEqual([added]);
  });

  it('counts exactly, on every page', async () => {
    const total = (await all('limit=100', b)).length;
    const first = await page('limit=10&include_total=true', b);
    expect(first).toMatchObject({ total, limit: 10, offset: 0, has_more: true });
    expect((await page(`limit=10&include_total=true&cursor=${first.next_cursor}`, b)).total).toBe(total);
    expect(await page('limit=10', b)).not.toHaveProperty('total');
    const last = await page(`limit=${total}&include_total=1`, b);
    expect(last).toMatchObject({ has_more: false, total });
    expect(last).not.toHaveProperty('next_cursor');
    expect(ids(await page(`limit=100&offset=${total - 2}`, b))).toHaveLength(2);
  });

  it('filters by each status', async () => {
    const created = await workflows.create(chain('x'));
    const [running, completed, failed, partial, cancelled] = await Promise.all([
      workflows.create(chain('x', 'y')),
      workflows.create(chain('x')),
      workflows.create(chain('x', 'y')),
      workflows.create([step('x', [], { on_failure: 'skip' }), step('y', ['x'])]),
      workflows.create(chain('x')),
    ]);
    await workflows.cancel(cancelled);
    // The hand takes everything there is, so `created` has started as well from here on.
    for (const id of [running, completed]) await remote.complete(id, 'x');
    for (const id of [failed, partial]) await remote.fail(id, 'x');
    const fresh = await workflows.create(chain('x'));
    const expected = {
      created: [fresh],
      running: [created, running],
      completed: [completed],
      failed: [failed],
      partially_failed: [partial],
      cancelled: [cancelled],
    };
    for (const [status, members] of Object.entries(expected)) {
      const body = await page(`status=${status}&include_total=true&order_by=created_at+ASC`);
      expect([status, ids(body)]).toEqual([status, members]);
      expect(body.total).toBe(members.length);
      for (const each of body.workflows) expect(each.status).toBe(status);
    }
    expect((await page('include_total=true')).total).toBe(7);
  });

  it('takes a range of time, closed at its beginning and open at its end', async () => {
    const [newer, older] = (await page('limit=2')).workflows;
    const range = (from: string, to: string): string =>
      `created_after=${encodeURIComponent(from)}&created_before=${encodeURIComponent(to)}`;
    expect(ids(await page(range(older.created_at, newer.created_at)))).toContain(older.id);
    expect(ids(await page(range(older.created_at, newer.created_at)))).not.toContain(newer.id);
    expect(ids(await page(`${range(newer.created_at, '2999-01-01T00:00:00Z')}&status=${newer.status}`))).toEqual([
      newer.id,
    ]);
    expect(ids(await page(range('2999-01-01T00:00:00Z', '2999-01-02T00:00:00Z')))).toEqual([]);
  });

  it('shows the same record as a look at one', async () => {
    const id = await workflows.create([step('x'), step('y'), step('z', ['x', 'y'])]);
    await remote.complete(id, 'x', { found: 1 });
    const [shown] = (await page('limit=1')).workflows;
    expect(shown).toEqual(await workflows.get(id));
    expect(shown.context).toEqual({ found: 1, x: { found: 1 } });
  });

  it('finds those of a name, in every state, and only those of the tenant', async () => {
    const named = (name: string, client = a) => workflowsOf(client).create({ name, steps: [step('x')] });
    const first = await named('wanted');
    await named('unwanted');
    const second = await named('wanted');
    await named('wanted', b);
    await workflows.cancel(first);
    const oldest = 'name=wanted&order_by=created_at ASC';
    expect(ids(await page(oldest))).toEqual([first, second]);
    expect(ids(await page(`${oldest}&status=cancelled`))).toEqual([first]);
    expect(ids(await page(`${oldest}&status=created`))).toEqual([second]);
    expect(ids(await page(`${oldest}&status=failed`))).toEqual([]);
    expect(ids(await page(`${oldest}&offset=1`))).toEqual([second]);
    expect(await page(`${oldest}&include_total=true&limit=1`)).toMatchObject({ total: 2, has_more: true });
    expect((await page('name=wanted&status=created&include_total=true')).total).toBe(1);
    expect(ids(await page('name=want'))).toEqual([]);
  });

  it('shows summaries without definitions and context, and how many steps have ended', async () => {
    const body = { name: 'summed', metadata: { mine: 1 }, context: { secret: 'c' }, steps: chain('x', 'y', 'z') };
    const id = await workflows.create(body);
    await remote.complete(id, 'x', { secret: 'r' });
    const { steps: _, context: __, ...record } = await workflows.get(id);
    const reply = await a.get('/api/v1/workflows?name=summed&view=summary');
    const steps = { pending: 2, running: 0, completed: 1, failed: 0, cancelled: 0, skipped: 0 };
    const counts = { steps_total: 3, steps_ended: 1, steps_by_status: steps, failed_step: null };
    expect(reply.body.workflows).toEqual([{ ...record, ...counts }]);
    expect(Object.keys(reply.body.workflows[0] as object).sort()).toEqual(
      Object.keys(WorkflowSummary.properties).sort(),
    );
    expect(reply.text).not.toContain('secret');
    await remote.fail(id, 'y');
    const [ended] = (await page('view=summary&status=failed&name=summed')).workflows;
    expect(ended).toMatchObject({ id, status: 'failed', steps_total: 3, steps_ended: 3 });
    expect(ids(await page('view=summary&limit=100'))).toEqual(ids(await page('view=full&limit=100')));
  });

  it('counts the steps in each state as a look at them does', async () => {
    const error = `\n  first ${'é'.repeat(300)}\r\nsecond`;
    const id = await workflows.create({
      name: 'counted',
      steps: [
        step('done'),
        step('lost', [], { on_failure: 'skip' }),
        step('after', ['lost']),
        step('runs'),
        step('retries', [], { config: { retry_delay_secs: 3600 } }),
        { name: 'asks', wait: { signal: 'go', timeout_secs: 3600 } },
        step('blocked', ['runs']),
        step('waits', ['done']),
        step('late', ['waits'], { on_failure: 'continue' }),
      ],
    });
    await remote.fail(id, 'lost', { error });
    await remote.fail(id, 'retries', { retryable: true });
    await remote.take(id, 'runs');
    await remote.complete(id, 'done');
    const summary = async (): Promise<any> => (await page('view=summary&name=counted')).workflows[0];
    const shown = await summary();
    const statuses = Object.values(await workflows.statuses(id));
    const counted = Object.fromEntries(
      STEP_STATUSES.map((status) => [status, statuses.filter((each) => each === status).length]),
    );
    expect(shown.steps_by_status).toEqual(counted);
    expect(counted).toEqual({ pending: 3, running: 3, completed: 1, failed: 1, cancelled: 0, skipped: 1 });
    expect(shown.failed_step).toEqual({ name: 'lost', error: `first ${'é'.repeat(194)}` });
    // The first to fail stays the one that is named.
    await remote.complete(id, 'waits');
    await remote.fail(id, 'late', { error: 'another' });
    expect(await summary()).toMatchObject({ failed_step: { name: 'lost' }, steps_by_status: { failed: 2 } });
    await workflows.cancel(id);
    expect((await summary()).steps_by_status).toEqual({
      ...{ pending: 0, running: 0, completed: 2, failed: 2, cancelled: 4, skipped: 1 },
    });
  });

  it('clamps numbers and refuses what is none', async () => {
    expect(await page('limit=0')).toMatchObject({ limit: 1 });
    expect(await page('limit=1000&offset=-4')).toMatchObject({ limit: 100, offset: 0 });
    for (const [query, path] of [
      ['status=retrying', 'status'],
      ['status=', 'status'],
      ['order_by=name', 'order_by'],
      ['limit=many', 'limit'],
      ['cursor=x', 'cursor'],
      ['created_after=yesterday', 'created_after'],
      ['include_total=perhaps', 'include_total'],
      ['view=brief', 'view'],
      ['name=a%00', 'name'],
    ]) {
      const reply = await a.get(`/api/v1/workflows?${query}`);
      expect([query, reply.status, reply.body.details?.[0].path]).toEqual([query, 400, path]);
    }
  });
});
