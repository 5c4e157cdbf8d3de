import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { useTestServer } from '../../support/server.js';

const MAIL_ONLY = 'token-of-the-mail-workers-1';
const folder = mkdtempSync(join(tmpdir(), 'millrace-workers-'));
const workerTokenFile = join(folder, 'workers');
writeFileSync(workerTokenFile, `${MAIL_ONLY} mail\n`);
afterAll(() => rmSync(folder, { recursive: true }));

const server = await useTestServer({ config: { mode: 'api', workerTokenFile } });
const limited = server.as(MAIL_ONLY);

interface Lease {
  readonly id: string;
  readonly lease_token: string;
}

function leaseOf([first]: readonly { job: { id: string }; lease_token: string }[]): Lease {
  return { id: first!.job.id, lease_token: first!.lease_token };
}

/** Longer than the tests take, however slow the machine is. */
const LONG = { lease_secs: 3_600 };

/** A job of the queue that a worker without limits holds. */
async function leased(queue: string): Promise<Lease> {
  await server.a.post('/api/v1/jobs', { task_name: 't', config: { queue } });
  const { body } = await server.worker.post(`/api/v1/queues/${queue}/lease`, LONG);
  return leaseOf(body.jobs);
}

const FORBIDDEN = { status: 403, body: { code: 'forbidden', error: 'this worker token is limited to other queues' } };

describe('a worker token that is limited to a queue', () => {
  it('leases from that queue and from no other', async () => {
    await server.a.post('/api/v1/jobs', { task_name: 't', config: { queue: 'mail' } });
    expect(await limited.post('/api/v1/queues/other/lease')).toMatchObject(FORBIDDEN);
    const { body } = await limited.post('/api/v1/queues/mail/lease', LONG);
    const { id, lease_token } = leaseOf(body.jobs);
    const beat = await limited.post(`/api/v1/jobs/${id}/heartbeat`, { lease_token, extend_secs: 3_600 });
    expect(beat.body).toEqual({ status: 'running' });
    expect((await limited.post(`/api/v1/jobs/${id}/complete`, { lease_token })).status).toBe(204);
  });

  it.each([
    ['heartbeat', {}],
    ['complete', {}],
    ['fail', { error: 'e' }],
    ['release', {}],
    ['children', { jobs: [{ name: 'x', task_name: 't', config: { queue: 'mail' } }] }],
  ])('cannot %s a job of another queue, even with its lease token', async (call, more) => {
    const { id, lease_token } = await leased('other');
    const body = { lease_token, ...more };
    expect(await limited.post(`/api/v1/jobs/${id.toUpperCase()}/${call}`, body)).toMatchObject(FORBIDDEN);
    expect((await server.a.get(`/api/v1/jobs/${id}`)).body.status).toBe('running');
  });

  it('creates children on that queue only', async () => {
    const { id, lease_token } = await leased('mail');
    const make = (...queues: string[]) =>
      limited.post(`/api/v1/jobs/${id}/children`, {
        lease_token,
        jobs: queues.map((queue) => ({ name: `on ${queue}`, task_name: 't', config: { queue } })),
      });
    expect(await make('mail', 'other')).toMatchObject(FORBIDDEN);
    expect((await server.a.get(`/api/v1/jobs?parent_job_id=${id}`)).body.jobs).toEqual([]);
    const made = await make('mail');
    expect(made.status).toBe(201);
    // The child by itself: a sweep would cancel it some time after its parent, while another test holds it.
    for (const each of [made.body.job_ids[0], id]) await server.a.post(`/api/v1/jobs/${each}/cancel`);
  });

  it('gets a refusal for each such item of a batch, and the rest goes ahead', async () => {
    const [mine, others] = [await leased('mail'), await leased('other')];
    const leases = [others, mine].map(({ id: job_id, lease_token }) => ({ job_id, lease_token }));
    const beats = await limited.post('/api/v1/heartbeats', { extend_secs: 3_600, leases });
    expect(beats.body.leases).toMatchObject([{ code: 'forbidden' }, { status: 'running' }]);
    const reports = leases.map((lease) => ({ ...lease, outcome: 'completed' }));
    const answers = await limited.post('/api/v1/reports', { reports });
    expect(answers.body.reports).toMatchObject([{ code: 'forbidden' }, { ok: true }]);
    expect((await server.a.get(`/api/v1/jobs/${others.id}`)).body.status).toBe('running');
  });

  it('is told as others are about a job that does not exist', async () => {
    const body = { lease_token: '00000000-0000-4000-8000-000000000000' };
    const { status } = await limited.post('/api/v1/jobs/00000000-0000-7000-8000-000000000000/complete', body);
    expect(status).toBe(404);
  });
});

it('leaves the token of the flag without limits', async () => {
  expect((await server.worker.post('/api/v1/queues/anything/lease')).status).toBe(200);
});
