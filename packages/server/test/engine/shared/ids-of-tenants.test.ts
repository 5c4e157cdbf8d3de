import { describe, expect, it } from 'vitest';
import { bucketOf, bucketOfId } from '../../../src/domain/ids.js';
import { TENANT_A, TENANT_B, useTestServer } from '../../support/server.js';
import { createJob, createJobs, deadLettersOf, fail, leaseOne, newQueue, report } from '../kit.js';

/** Every id that a tenant is given carries its bucket: so whoever has one knows where it belongs. */
const { a, b, worker, database } = await useTestServer({ config: { mode: 'api' } });

describe.each([
  [TENANT_A, a],
  [TENANT_B, b],
])('the ids of %s', (tenant, client) => {
  const bucket = bucketOf(tenant);
  const created = async (path: string, body: object, field: string): Promise<string> => {
    const reply = await client.post(`/api/v1${path}`, body);
    expect(reply.status, reply.text).toBeLessThan(300);
    return reply.body[field];
  };
  const expectOurs = (...ids: string[]): void => expect(ids.map(bucketOfId)).toEqual(ids.map(() => bucket));

  it('are in its bucket: jobs, alone, in batches, with limits and as copies', async () => {
    const queue = newQueue();
    expectOurs(await createJob(client, queue), ...(await createJobs(client, queue, 3)));
    expectOurs(await createJob(client, queue, { config: { limits: [{ key: 'k', running: 1 }] } }));
    expectOurs(await createJob(client, queue, { config: { unique: { key: 'u', while: 'waiting' } } }));
    const id = await createJob(client, queue, { config: { expires_secs: 60 } });
    expectOurs(id, await created(`/jobs/${id}/rerun`, {}, 'job_id'));
  });

  it('are in its bucket: children, workflows and their steps, schedules and what they start, operations', async () => {
    const queue = newQueue();
    await createJob(client, queue);
    const leased = await leaseOne(worker, queue);
    const jobs = [{ name: 'c', task_name: 't', config: { queue } }];
    expectOurs(...((await report(worker, 'children', leased, { jobs })).body.job_ids as string[]));
    const steps = [
      { name: 'one', task_name: 't', queue },
      { name: 'two', wait: { signal: 's', timeout_secs: 60 } },
    ];
    const flow = await created('/workflows', { name: 'w', steps }, 'workflow_id');
    const shown = (await client.get(`/api/v1/workflows/${flow}/steps`)).body.steps as { job_id: string }[];
    expectOurs(flow, ...shown.map(({ job_id: id }) => id));
    const timetable = { name: queue, cron_expr: '@yearly' };
    const cron = await created('/cron', { ...timetable, task_name: 't', queue }, 'cron_id');
    expectOurs(cron, await created(`/cron/${cron}/trigger`, {}, 'job_id'));
    const starts = { ...timetable, name: `${queue}-w`, workflow: { name: 'w', steps } };
    const starter = await created('/cron', starts, 'cron_id');
    expectOurs(starter, await created(`/cron/${starter}/trigger`, {}, 'workflow_id'));
    expectOurs(await created('/operations', { action: 'cancel_jobs', filter: { queue } }, 'operation_id'));
  });

  it('are in its bucket: dead letters, by their last 16 bits', async () => {
    const queue = newQueue();
    const id = await createJob(client, queue);
    await fail(worker, await leaseOne(worker, queue), { retryable: false });
    const [letter] = await deadLettersOf(client, id);
    expect(Number(BigInt(letter!.id) & 0xffffn)).toBe(bucket);
    expect(letter!.id).toBeGreaterThanOrEqual(65_536);
    expectOurs(await created(`/dlq/${letter!.id}/replay`, {}, 'job_id'));
  });

  it('are in the bucket that it is registered under', async () => {
    const rows = await database.query('SELECT bucket FROM millrace.tenants WHERE tenant = $1', [tenant]);
    expect(rows).toEqual([{ bucket }]);
  });
});
