import { describe, expect, it } from 'vitest';
import { KEY_A, KEY_B, useTestServer, WORKER_TOKEN } from '../../support/server.js';
import { createJobs, getJob, lease, newQueue } from '../kit.js';
import { pipeline } from '../pipeline.js';

/** Single calls that arrive together are written together. Each is still answered as if it were alone. */
describe('group commit', async () => {
  const { a, b, worker, database, url } = await useTestServer({ config: { mode: 'api' } });

  const creating = (count: number, body: (i: number) => object, more: (i: number) => object = () => ({})) =>
    pipeline(
      url,
      Array.from({ length: count }, (_, i) => ({ path: '/api/v1/jobs', token: KEY_A, body: body(i), ...more(i) })),
    );

  /** Makes the database reject a row, as nothing that passes validation should. */
  async function refusing<T>(table: string, condition: string, body: () => Promise<T>): Promise<T> {
    await database.query(`ALTER TABLE millrace.${table} ADD CONSTRAINT no_poison CHECK (${condition})`);
    try {
      return await body();
    } finally {
      await database.query(`ALTER TABLE millrace.${table} DROP CONSTRAINT no_poison`);
    }
  }

  it('writes many creates of two tenants in few transactions', async () => {
    const queue = newQueue();
    const isB = (i: number): boolean => i % 2 === 1;
    const replies = await creating(
      300,
      (i) => ({ task_name: `t${i}`, config: { queue } }),
      (i) => ({ token: isB(i) ? KEY_B : KEY_A }),
    );
    expect(replies.map(({ status }) => status)).toEqual(Array(300).fill(201));
    expect(new Set(replies.map(({ body }) => body.job_id)).size).toBe(300);
    const [{ n }] = (await database.query<{ n: number }>(
      'SELECT count(DISTINCT xmin::text)::int AS n FROM millrace.jobs WHERE queue = $1',
      [queue],
    )) as [{ n: number }];
    expect(n).toBeLessThan(30);
    for (const i of [0, 1, 150, 299]) {
      const job = await getJob(isB(i) ? b : a, replies[i]!.body.job_id);
      expect(job).toMatchObject({ task_name: `t${i}`, tenant_id: isB(i) ? 'tenant-b' : 'tenant-a' });
    }
  });

  it('answers only after the commit: another session sees the job at once', async () => {
    const queue = newQueue();
    const seen = await Promise.all(
      Array.from({ length: 20 }, async () => {
        const { body } = await a.post('/api/v1/jobs', { task_name: 't', config: { queue } });
        return database.query('SELECT 1 FROM millrace.jobs j JOIN millrace.ready r USING (tenant, id) WHERE id = $1', [
          body.job_id,
        ]);
      }),
    );
    expect(seen.map((rows) => rows.length)).toEqual(seen.map(() => 1));
  });

  it('does not fail the neighbours of a bad row', async () => {
    const queue = newQueue();
    const isBad = (i: number): boolean => i % 23 === 5;
    const replies = await refusing('jobs', `task <> 'poison'`, () =>
      creating(120, (i) => ({ task_name: isBad(i) ? 'poison' : 'good', config: { queue } })),
    );
    expect(replies.map(({ status }) => status)).toEqual(replies.map((_, i) => (isBad(i) ? 500 : 201)));
    const good = replies.filter(({ status }) => status === 201).map((reply) => reply.body.job_id as string);
    expect(new Set(good).size).toBe(good.length);
    expect((await a.get(`/api/v1/jobs?queue=${queue}&include_total=true`)).body.total).toBe(good.length);
  });

  it('does not fail the neighbours of a bad keyed row, and its key stays free', async () => {
    const queue = newQueue();
    const keyed = (i: number): object => ({ headers: { 'idempotency-key': `${queue}-${i}` } });
    const replies = await refusing('jobs', `task <> 'poison'`, () =>
      creating(60, (i) => ({ task_name: i === 31 ? 'poison' : 'good', config: { queue } }), keyed),
    );
    expect(replies.map(({ status }) => status)).toEqual(replies.map((_, i) => (i === 31 ? 500 : 201)));
    const again = await creating(60, () => ({ task_name: 'good', config: { queue } }), keyed);
    expect(again.map(({ status }) => status)).toEqual(again.map(() => 201));
    again.forEach(({ body }, i) => {
      if (i !== 31) expect(body).toEqual(replies[i]!.body);
    });
  });

  it('makes one job of one key sent a hundred times', async () => {
    const queue = newQueue();
    const replies = await creating(
      100,
      (i) => ({ task_name: `t${i}`, config: { queue } }),
      () => ({ headers: { 'idempotency-key': queue } }),
    );
    expect(new Set(replies.map(({ body }) => body.job_id)).size).toBe(1);
    expect((await a.get(`/api/v1/jobs?queue=${queue}&include_total=true`)).body.total).toBe(1);
  });

  it('settles each completion with its own result, and fails only the one that cannot be stored', async () => {
    const queue = newQueue();
    await createJobs(a, queue, 80);
    const leased = await lease(worker, queue, { max_jobs: 100 });
    expect(leased).toHaveLength(80);
    const completing = (poisoned: number) =>
      pipeline(
        url,
        leased.map(({ job, lease_token }, i) => ({
          path: `/api/v1/jobs/${job.id}/complete`,
          token: WORKER_TOKEN,
          body: { lease_token, result: i === poisoned ? { poison: i } : { i } },
        })),
      );
    const replies = await refusing('done', `result IS NULL OR result::text NOT LIKE '%poison%'`, () => completing(17));
    expect(replies.map(({ status }) => status)).toEqual(replies.map((_, i) => (i === 17 ? 500 : 204)));
    for (const i of [0, 16, 18, 79]) {
      expect(await getJob(a, leased[i]!.job.id)).toMatchObject({ status: 'completed', result: { i } });
    }
    expect(await getJob(a, leased[17]!.job.id)).toMatchObject({ status: 'running' });
    expect((await completing(-1)).map(({ status }) => status)).toEqual(replies.map(() => 204));
    expect(await getJob(a, leased[17]!.job.id)).toMatchObject({ status: 'completed', result: { i: 17 } });
  });
});
