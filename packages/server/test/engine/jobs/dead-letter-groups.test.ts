import type { DeadLetter, DeadLetterGroup } from '@millrace/contract';
import { describe, expect, it } from 'vitest';
import type { Client } from '../../support/client.js';
import { useTestServer } from '../../support/server.js';
import { createJob, deadLettersOf, fail, leaseOne, newQueue } from '../kit.js';

describe('dead letters', async () => {
  const { a, b, worker, database, nobody } = await useTestServer({ config: { mode: 'api' } });

  interface Failure {
    readonly task?: string;
    readonly error?: string;
    readonly retryable?: boolean;
    readonly payload?: object;
  }

  /** A job that fails for good, at once or after a retry. */
  async function bury(queue: string, failure: Failure = {}, client: Client = a): Promise<DeadLetter> {
    const { task = 'task', error = 'broken', retryable = false, payload = {} } = failure;
    const config = { max_retries: 1, retry_delay_secs: 0 };
    const id = await createJob(client, queue, { task_name: task, payload, config });
    await fail(worker, await leaseOne(worker, queue), { error, retryable });
    if (retryable) await fail(worker, await leaseOne(worker, queue), { error, retryable });
    const [letter] = await deadLettersOf(client, id);
    return letter!;
  }

  const get = async (path: string, client: Client = a): Promise<any> => {
    const reply = await client.get(`/api/v1/${path}`);
    expect(reply.status, reply.text).toBe(200);
    return reply.body;
  };
  const list = async (query: string, client: Client = a): Promise<DeadLetter[]> =>
    (await get(`dlq?${query}`, client)).dead_letters;
  const groups = async (query: string, client: Client = a): Promise<DeadLetterGroup[]> =>
    (await get(`dlq/groups?${query}`, client)).groups;

  it('are listed by queue, task, reason, job, group, and whether they were replayed', async () => {
    const [queue, other] = [newQueue(), newQueue()];
    const first = await bury(queue, { task: 'mail', error: 'no' });
    const second = await bury(queue, { task: 'mail', error: 'no', retryable: true });
    const third = await bury(queue, { task: 'print', error: 'no' });
    const fourth = await bury(other, { task: 'mail', error: 'no' });
    await bury(queue, { task: 'mail', error: 'no' }, b);
    expect((await a.post(`/api/v1/dlq/${third.id}/replay`)).status).toBe(201);
    const ids = async (query: string): Promise<number[]> => (await list(query)).map(({ id }) => id);
    expect(await ids(`queue_name=${queue}`)).toEqual([third.id, second.id, first.id]);
    expect(await ids(`queue_name=${queue}&task_name=mail`)).toEqual([second.id, first.id]);
    expect(await ids(`queue_name=${queue}&reason=max_attempts_exceeded`)).toEqual([second.id]);
    expect(await ids(`queue_name=${queue}&replayed=true`)).toEqual([third.id]);
    expect(await ids(`queue_name=${queue}&replayed=false&order_by=created_at ASC`)).toEqual([first.id, second.id]);
    expect(await ids(`job_id=${second.job_id}`)).toEqual([second.id]);
    expect(await ids(`job_id=${second.job_id}&task_name=print`)).toEqual([]);
    expect(await ids('job_id=nonsense')).toEqual([]);
    expect(await ids(`fingerprint=${first.fingerprint}`)).toEqual([fourth.id, first.id]);
    expect(await ids(`fingerprint=${first.fingerprint}&queue_name=${other}`)).toEqual([fourth.id]);
    expect(await ids('fingerprint=0000000000000000')).toEqual([]);
    // `queue` has no effect, as specified.
    expect(await ids(`queue=${other}&queue_name=${queue}&limit=1`)).toEqual([third.id]);
    expect((await get(`dlq?queue_name=${queue}&task_name=mail&include_total=true&limit=1`)).total).toBe(2);
    expect(await list(`job_id=${first.job_id}`, b)).toEqual([]);
    expect((await list(`fingerprint=${first.fingerprint}`, b)).map(({ tenant_id }) => tenant_id)).toEqual(['tenant-b']);
  });

  it.each(['reason=bad_luck', 'replayed=perhaps', 'replayed=', 'task_name=a%00', 'job_id=x&job_id=y'])(
    'are not listed by %s',
    async (query) => {
      const reply = await a.get(`/api/v1/dlq?${query}`);
      expect([reply.status, reply.body.details?.[0].path]).toEqual([400, query.split('=')[0]]);
    },
  );

  it('say how large the payload is, while the job is there, and how often it was retried', async () => {
    const queue = newQueue();
    const payload = { text: 'ü'.repeat(20_000) };
    const letter = await bury(queue, { payload, retryable: true });
    expect(letter).toMatchObject({ payload_bytes: Buffer.byteLength(JSON.stringify(payload)), retry_count: 1 });
    expect(await get(`dlq/${letter.id}`)).toEqual(letter);
    await database.query('DELETE FROM millrace.jobs WHERE id = $1', [letter.job_id]);
    expect(await get(`dlq/${letter.id}`)).toEqual({ ...letter, payload_bytes: null });
    expect(await list(`queue_name=${queue}`)).toEqual([{ ...letter, payload_bytes: null }]);
  });

  it('are searched for in steps, as jobs are, when few of very many match', async () => {
    const task = `rare ${newQueue()}`;
    const rare = await bury(newQueue(), { task }, b);
    await database.query(
      `INSERT INTO millrace.dead_letters (created_at, job_id, reason, tenant, queue, task)
       SELECT now(), gen_random_uuid(), 'non_retryable', 'tenant-b', 'q', 'common' FROM generate_series(1, 22000)`,
    );
    const found: number[] = [];
    let pages = 0;
    for (let cursor = ''; ;) {
      const page = await get(`dlq?task_name=${encodeURIComponent(task)}${cursor}`, b);
      found.push(...page.dead_letters.map(({ id }: DeadLetter) => id));
      pages++;
      if (!page.has_more) break;
      expect(page.searched_to).toEqual(expect.any(String));
      cursor = `&cursor=${page.next_cursor}`;
    }
    expect(found).toEqual([rare.id]);
    expect(pages).toBeGreaterThan(1);
    // Groups are not walked entry by entry.
    const [common, other] = await groups('limit=2', b);
    expect(common).toMatchObject({ task_name: 'common', count: 22_000, message: null });
    expect(other).toMatchObject({ task_name: task, count: 1, latest_id: rare.id });
    await database.query(`DELETE FROM millrace.dead_letters WHERE task = 'common'`);
  });

  describe('in groups', () => {
    it('have task, reason and the first line of the error in common, but for ids and numbers', async () => {
      const queue = newQueue();
      const order = (id: string, n: number): string => `order ${id} has ${n} items\nat line ${n}`;
      const first = await bury(queue, { task: 'ship', error: order('0198c7f0-0000-7000-8000-0000000000aa', 3) });
      const second = await bury(queue, { task: 'ship', error: order('0198c7f0-1111-7000-8000-0000000000bb', 44) });
      const alone = await bury(queue, { task: 'bill', error: order('0198c7f0-1111-7000-8000-0000000000bb', 44) });
      const retried = await bury(queue, { task: 'ship', error: order('9', 1), retryable: true });
      expect(second.fingerprint).toBe(first.fingerprint);
      expect(new Set([first, alone, retried].map(({ fingerprint }) => fingerprint)).size).toBe(3);
      const shown = await groups(`queue_name=${queue}`);
      expect(shown).toEqual([
        {
          fingerprint: retried.fingerprint,
          task_name: 'ship',
          reason: 'max_attempts_exceeded',
          message: 'order <n> has <n> items',
          count: 1,
          open: 1,
          first_at: retried.created_at,
          last_at: retried.created_at,
          latest_id: retried.id,
        },
        expect.objectContaining({ fingerprint: alone.fingerprint, task_name: 'bill', count: 1 }),
        {
          fingerprint: first.fingerprint,
          task_name: 'ship',
          reason: 'non_retryable',
          message: 'order <id> has <n> items',
          count: 2,
          open: 2,
          first_at: first.created_at,
          last_at: second.created_at,
          latest_id: second.id,
        },
      ]);
      expect((await list(`fingerprint=${first.fingerprint}`)).map(({ id }) => id)).toEqual([second.id, first.id]);
    });

    it('are chosen by queue, task and time, which their counts follow', async () => {
      const [queue, other] = [newQueue(), newQueue()];
      const task = `t ${queue}`;
      const first = await bury(queue, { task });
      const second = await bury(other, { task });
      const third = await bury(queue, { task });
      const counts = async (query: string): Promise<number[]> =>
        (await groups(query)).filter(({ task_name }) => task_name === task).map(({ count }) => count);
      const of = `task_name=${encodeURIComponent(task)}`;
      expect(await counts(of)).toEqual([3]);
      expect(await counts(`${of}&queue_name=${queue}`)).toEqual([2]);
      expect(await counts(`queue_name=${other}`)).toEqual([1]);
      expect(await counts(`${of}&since=${encodeURIComponent(second.created_at)}`)).toEqual([2]);
      expect(await counts(`${of}&since=2999-01-01T00:00:00Z`)).toEqual([]);
      expect(await counts('task_name=other')).toEqual([]);
      const [inQueue] = await groups(`${of}&queue_name=${queue}`);
      expect(inQueue).toMatchObject({ first_at: first.created_at, last_at: third.created_at, latest_id: third.id });
      expect(await groups(of, b)).toEqual([]);
    });

    it('say what is open in them, and are chosen by whether they were replayed', async () => {
      const queue = newQueue();
      const first = await bury(queue, { task: 'half' });
      const second = await bury(queue, { task: 'half' });
      const alone = await bury(queue, { task: 'whole' });
      for (const { id } of [second, alone]) expect((await a.post(`/api/v1/dlq/${id}/replay`)).status).toBe(201);
      const shown = async (query: string): Promise<unknown[]> =>
        (await groups(`queue_name=${queue}${query}`)).map((group) => [
          ...[group.task_name, group.count, group.open, group.latest_id],
        ]);
      expect(await shown('')).toEqual([
        ['whole', 1, 0, alone.id],
        ['half', 2, 1, second.id],
      ]);
      expect(await shown('&replayed=false')).toEqual([['half', 1, 1, first.id]]);
      expect(await shown('&replayed=true')).toEqual([
        ['whole', 1, 0, alone.id],
        ['half', 1, 0, second.id],
      ]);
    });

    it('come page by page, the one with the newest entry first', async () => {
      const queue = newQueue();
      const made: string[] = [];
      for (let n = 0; n < 5; n++) made.unshift((await bury(queue, { task: `task ${n}` })).fingerprint);
      const seen: string[] = [];
      for (let cursor = ''; ;) {
        const page = await get(`dlq/groups?queue_name=${queue}&limit=2${cursor}`);
        seen.push(...page.groups.map(({ fingerprint }: DeadLetterGroup) => fingerprint));
        expect(page.has_more).toBe(page.next_cursor !== undefined);
        if (!page.has_more) break;
        cursor = `&cursor=${page.next_cursor}`;
      }
      expect(seen).toEqual(made);
    });

    it('ask for a credential, and refuse what they cannot read', async () => {
      expect((await nobody.get('/api/v1/dlq/groups')).status).toBe(401);
      expect((await worker.get('/api/v1/dlq/groups')).status).toBe(401);
      for (const query of ['since=yesterday', 'limit=x', 'cursor=x', 'queue_name=%00']) {
        const reply = await a.get(`/api/v1/dlq/groups?${query}`);
        expect([reply.status, reply.body.details?.[0].path]).toEqual([400, query.split('=')[0]]);
      }
    });
  });

  it.each([
    ['smtp: connection refused', 'smtp: connection refused'],
    ['user 42 not found', 'user <n> not found'],
    ['timed out after 30.5 s', 'timed out after <n> s'],
    ['connect ECONNREFUSED 10.0.0.7:5432', 'connect ECONNREFUSED <n>:<n>'],
    ['order 0198C7F0-0000-7000-8000-0000000000aa gone', 'order <id> gone'],
    ['bad pointer 0x7ffe', 'bad pointer <id>'],
    ['commit 3af66ccf9e51 not found', 'commit <id> not found'],
    ['key sess_01HXABCDEFGHJKMNPQRS rejected', 'key sess_<id> rejected'],
    ['deadbeef is a word, and so is authentication', 'deadbeef is a word, and so is authentication'],
    ['row 12345678901 of utf8', 'row <n> of utf<n>'],
    ['at 2026-01-31T09:00:00.123Z', 'at <n>-<n>-<n>T<n>:<n>:<n>Z'],
    ['first line\r\nsecond line 2', 'first line'],
    ['\n\n  after blank lines  \nmore', 'after blank lines'],
    ['  \n ', null],
    ['', null],
    ['ü€😀 7', 'ü€😀 <n>'],
    [`${'a '.repeat(400)}`, 'a '.repeat(100)],
    [`${'1 '.repeat(4000)}`, '<n> '.repeat(50)],
  ])('that say %j belong together with what says %j', async (error, template) => {
    const [row] = await database.query<{ template: string | null }>('SELECT millrace.error_template($1) AS template', [
      error,
    ]);
    expect(row!.template).toBe(template);
  });
});
