import { WALK_LIMIT, type JobPage } from '@millrace/contract';
import { describe, expect, it } from 'vitest';
import { useTestServer } from '../../support/server.js';
import { createJob, createJobs, fail, leaseOne, newQueue } from '../kit.js';

describe('a search for jobs', async () => {
  const { a, b, worker, database } = await useTestServer({ config: { mode: 'api' } });
  const found = async (query: string, client = a): Promise<JobPage> => {
    const reply = await client.get(`/api/v1/jobs?${query}`);
    expect(reply.status, reply.text).toBe(200);
    return reply.body as JobPage;
  };
  const ids = async (query: string, client = a): Promise<string[]> =>
    (await found(query, client)).jobs.map(({ id }) => id);
  const refusal = async (query: string): Promise<unknown> => {
    const { status, body } = await a.get(`/api/v1/jobs?${query}`);
    return [status, body.details?.[0].path];
  };
  const failed = async (queue: string, error: string, fields = {}, client = a): Promise<string> => {
    const id = await createJob(client, queue);
    await fail(worker, await leaseOne(worker, queue), { error, retryable: false, ...fields });
    return id;
  };

  it('finds text in the errors of failed and retrying jobs, in capital or small letters', async () => {
    const queue = newQueue();
    const dead = await failed(queue, 'Connection REFUSED by 100% of_hosts\nat line 2');
    const retried = await failed(queue, 'connection refused again', { retryable: true });
    await failed(queue, 'timed out');
    const done = await createJob(a, queue);
    await worker.post(`/api/v1/jobs/${done}/complete`, { lease_token: (await leaseOne(worker, queue)).lease_token });
    const foreign = await failed(newQueue(), 'connection refused too', {}, b);
    const all = `queue=${queue}&error=${encodeURIComponent('tion refused')}`;
    expect(await ids(all)).toEqual([retried, dead]);
    expect(await ids(`${all}&order_by=created_at%20ASC&limit=1`)).toEqual([dead]);
    expect(await ids(`${all}&status=failed`)).toEqual([dead]);
    expect(await ids(`${all}&status=retrying,pending`)).toEqual([retried]);
    expect(await ids(`${all}&status=completed,running`)).toEqual([]);
    expect(await ids(`${all}&view=summary`)).toEqual([retried, dead]);
    expect((await found(`${all}&include_total=true`)).total).toBe(2);
    // What stands for anything elsewhere stands for itself.
    expect(await ids(`error=${encodeURIComponent('100% of_hosts')}`)).toEqual([dead]);
    expect(await ids(`error=${encodeURIComponent('100%of')}`)).toEqual([]);
    expect(await ids('error=refused', b)).toEqual([foreign]);
  });

  it('refuses a text that is too short or too long', async () => {
    for (const error of ['', 'ab', 'x'.repeat(201), 'a%00b'])
      expect(await refusal(`error=${error}`), error).toEqual([400, 'error']);
    expect(await ids(`error=${'x'.repeat(200)}`)).toEqual([]);
    expect(await ids(`error=${encodeURIComponent('\u{1F980}'.repeat(3))}`)).toEqual([]);
  });

  it('finds exactly one value of one field of the metadata', async () => {
    const queue = newQueue();
    const of = (metadata: object, client = a): Promise<string> =>
      createJob(client, queue, { task_name: 'find', metadata });
    const signup = await of({ source: 'signup', n: 7, 'a.b': 'dotted', deep: { source: 'no' } });
    const upper = await of({ source: 'Signup', n: 70 });
    await of({ other: 'signup', nested: { source: 'signup' } });
    await of({ source: 'signup' }, b);
    // Escapes that PostgreSQL cannot hold are no obstacle to what is beside them.
    const reply = await a.post(
      '/api/v1/jobs',
      `{"task_name":"find","config":{"queue":"${queue}"},"metadata":{"bad":"\\u0000 \\\\u0000","half":"\\ud800","source":"odd"}}`,
    );
    expect(reply.status, reply.text).toBe(201);
    const odd = reply.body.job_id as string;
    expect(await ids('metadata.source=signup')).toEqual([signup]);
    expect(await ids('metadata.source=Signup')).toEqual([upper]);
    expect(await ids('metadata.source=sign')).toEqual([]);
    expect(await ids('metadata.n=7')).toEqual([signup]);
    expect(await ids('metadata.a.b=dotted')).toEqual([signup]);
    expect(await ids('metadata.source=odd')).toEqual([odd]);
    expect(await ids(`metadata.source=signup&queue=${queue}&status=pending&task=find`)).toEqual([signup]);
    expect(await ids('metadata.source=signup&status=completed')).toEqual([]);
    expect((await found('metadata.source=signup&status=pending&include_total=true')).total).toBe(1);
    expect(await found('metadata.source=signup')).not.toHaveProperty('warnings');
  });

  it('takes one field, with a name and a value that metadata can have', async () => {
    expect(await refusal('metadata.a=1&metadata.b=2')).toEqual([400, 'metadata.b']);
    expect(await refusal('metadata.=x')).toEqual([400, 'metadata']);
    expect(await refusal(`metadata.${'x'.repeat(256)}=1`)).toEqual([400, 'metadata']);
    expect(await refusal(`metadata.a=${'x'.repeat(256)}`)).toEqual([400, 'metadata.a']);
    expect(await refusal('metadata.a=%00')).toEqual([400, 'metadata.a']);
  });

  it('walks a bounded number of jobs, says how far it got, and goes on from there', async () => {
    const queue = newQueue();
    const [oldest] = await createJobs(a, queue, 1);
    await database.query(`UPDATE millrace.jobs SET metadata = '{"needle":"yes"}' WHERE id = $1`, [oldest]);
    await database.query(
      `INSERT INTO millrace.jobs (created_at, priority, id, tenant, queue, task, payload)
       SELECT now(), 0, (millrace.id_prefix(now() + interval '1 minute') || '8' || lpad(to_hex(n), 15, '0'))::uuid,
              'tenant-a', $1, 'hay', '{}' FROM generate_series(1, $2::int) AS n`,
      [newQueue(), WALK_LIMIT + 100],
    );
    const seen: string[] = [];
    let pages = 0;
    for (let query = 'metadata.needle=yes&limit=5'; ;) {
      const page = await found(query);
      pages += 1;
      seen.push(...page.jobs.map(({ id }) => id));
      if (!page.has_more) break;
      expect(page.searched_to).toEqual(expect.any(String));
      query = `metadata.needle=yes&limit=5&cursor=${encodeURIComponent(page.next_cursor!)}`;
    }
    expect(pages).toBeGreaterThan(1);
    expect(seen).toEqual([oldest]);
    await database.query(`DELETE FROM millrace.jobs WHERE task = 'hay'`);
  });
});
