import { SignJWT } from 'jose';
import { afterAll, describe, expect, it } from 'vitest';
import { bucketOf, bucketOfId } from '../../src/domain/ids.js';
import { createJob, leaseOne, newQueue } from '../engine/kit.js';
import { cloneCells } from '../support/cells.js';
import { JWT_SECRET, startTestServer } from '../support/server.js';

/** One service over two databases, each with half of the tenants. */
const database = await cloneCells(2);
const server = await startTestServer({ config: { mode: 'api' }, database });
afterAll(async () => {
  await server.stop();
  await database.drop();
});
const { worker, admin } = server;

/** Names of tenants, of which the first lives in the first database, and the second in the second. */
const names = [0, 1].map((cell) => {
  for (let n = 0; ; n++) if (Math.floor(bucketOf(`tenant-${n}`) / 32_768) === cell) return `tenant-${n}`;
});
const secret = new TextEncoder().encode(JWT_SECRET);
const tenants = await Promise.all(
  names.map(async (tenant) => {
    const token = await new SignJWT({ sub: tenant })
      .setProtectedHeader({ alg: 'HS256' })
      .setExpirationTime('1h')
      .sign(secret);
    return server.as(token);
  }),
);

describe('tenants on two databases', () => {
  it('have their jobs in one of them, whose bucket is in the id', async () => {
    const queue = newQueue();
    for (const [n, client] of tenants.entries()) {
      const id = await createJob(client, queue);
      expect(bucketOfId(id)).toBe(bucketOf(names[n]!));
      const found = await Promise.all(
        database.cells.map((cell) => cell.query('SELECT FROM millrace.jobs WHERE id = $1', [id])),
      );
      expect(found.map((rows) => rows.length)).toEqual(n === 0 ? [1, 0] : [0, 1]);
      expect((await client.get(`/api/v1/jobs/${id}`)).body.id).toBe(id);
    }
  });

  it('are served by one worker, which reports to whichever holds the job', async () => {
    const queue = newQueue();
    const ids = await Promise.all(tenants.map((client) => createJob(client, queue)));
    const leased = [await leaseOne(worker, queue), await leaseOne(worker, queue)];
    expect(leased.map(({ job }) => job.id).sort()).toEqual(ids.sort());
    const reports = leased.map(({ job, lease_token }) => ({ job_id: job.id, lease_token, outcome: 'completed' }));
    const answer = await worker.post('/api/v1/reports', { reports });
    expect(answer.body.reports.map(({ ok }: { ok: boolean }) => ok)).toEqual([true, true]);
    const queues = (await admin.get('/api/v1/admin/queues')).body.queues as { queue: string }[];
    expect(queues.filter((each) => each.queue === queue)).toEqual([]);
  });

  it('are claimed in the order of their priorities, whichever database they are in', async () => {
    const queue = newQueue();
    const ids: string[] = [];
    for (let priority = 0; priority < 6; priority++)
      ids.push(await createJob(tenants[priority % 2]!, queue, { config: { priority } }));
    const order: string[] = [];
    for (let n = 0; n < 6; n++) order.push((await leaseOne(worker, queue)).job.id);
    expect(order).toEqual(ids.reverse());
  });

  it('are kept out of a service that takes one of them for all there is', async () => {
    const [first] = database.cells;
    await expect(startTestServer({ config: { mode: 'api' }, database: first! })).rejects.toThrow(
      /holds the buckets 0-32767 only: it is one cell of several/,
    );
  });
});
