import { randomUUID } from 'node:crypto';
import { afterAll, describe, expect, it } from 'vitest';
import { createClient, type Reply } from '../../support/client.js';
import { until } from '../../support/until.js';
import { cloneDatabase } from '../../support/database.js';
import { KEY_A, startTestServer, TENANT_A } from '../../support/server.js';
import { startAnotherServer } from '../another-server.js';
import { cancel, complete, createJob, createJobs, fail, leaseOne, newQueue } from '../kit.js';
import { inTime, LONGEST_WAIT_SECS } from '../waiting.js';

describe('waiting for jobs', async () => {
  const database = await cloneDatabase();
  const readKeys = new Map([['a-key-that-may-only-read', TENANT_A]]);
  const server = await startTestServer({ database, config: { mode: 'api', readKeys } });
  const { a, b, worker } = server;
  const other = await startAnotherServer(database, { mode: 'api' });
  const elsewhere = createClient(other.apiUrl!, KEY_A);
  afterAll(async () => {
    await other.stop();
    await server.stop();
    await database.drop();
  });

  /** So many calls wait at the server, as it counts them. */
  const areWaiting = async ({ metricsUrl }: { readonly metricsUrl: string }, calls: number): Promise<boolean> =>
    new RegExp(`^millrace_job_waits ${calls}$`, 'm').test(await (await fetch(`${metricsUrl}/metrics`)).text());

  const waitFor = (ids: readonly string[], fields: object = {}, client = a) =>
    client.post('/api/v1/jobs/wait', { job_ids: ids, wait_secs: 30, ...fields });

  describe('GET /jobs/{id}?wait_secs', () => {
    it.each([
      ['completed', async (queue: string) => complete(worker, await leaseOne(worker, queue), { n: 1 })],
      ['failed', async (queue: string) => fail(worker, await leaseOne(worker, queue), { retryable: false })],
      ['cancelled', async (_: string, id: string) => cancel(a, id)],
    ])('answers when the job has %s', async (status, end) => {
      await inTime(LONGEST_WAIT_SECS, async () => {
        const queue = newQueue();
        const id = await createJob(a, queue);
        const waiting = a.get(`/api/v1/jobs/${id}?wait_secs=30`);
        const inAnotherProcess = elsewhere.get(`/api/v1/jobs/${id}?wait_secs=30`);
        expect((await a.get(`/api/v1/jobs/${id}?wait_secs=0`)).body.status).toBe('pending');
        await end(queue, id);
        for (const reply of [await waiting, await inAnotherProcess]) {
          expect([reply.status, reply.body.status]).toEqual([200, status]);
        }
      });
    });

    it('answers at the deadline with the state that the job has', async () => {
      const queue = newQueue();
      const id = await createJob(a, queue);
      const afterASecond = async (): Promise<unknown[]> => {
        const startedAt = performance.now();
        const { status, body } = await a.get(`/api/v1/jobs/${id}?wait_secs=1`);
        expect(performance.now() - startedAt).toBeGreaterThan(950);
        return [status, body.status];
      };
      expect(await afterASecond()).toEqual([200, 'pending']);
      await leaseOne(worker, queue);
      expect(await afterASecond()).toEqual([200, 'running']);
    });

    it('answers at once for a job that has ended, and refuses as a plain read does', async () => {
      const id = await createJob(a, newQueue());
      await cancel(a, id);
      expect((await a.get(`/api/v1/jobs/${id}?wait_secs=30`)).body.status).toBe('cancelled');
      expect((await b.get(`/api/v1/jobs/${id}?wait_secs=30`)).status).toBe(403);
      expect((await a.get(`/api/v1/jobs/${randomUUID()}?wait_secs=30`)).status).toBe(404);
      expect((await a.get('/api/v1/jobs/nonsense?wait_secs=30')).status).toBe(404);
      expect((await a.get(`/api/v1/jobs/${id}?wait_secs=soon`)).status).toBe(400);
      expect((await a.get(`/api/v1/jobs/${id}?wait_secs=1000`)).status).toBe(200);
    });
  });

  describe('POST /jobs/wait', () => {
    it('waits for all of them, and tells how each ended', async () => {
      await inTime(LONGEST_WAIT_SECS, async () => {
        const queue = newQueue();
        const ids = await createJobs(a, queue, 3);
        const waiting = waitFor(ids);
        const inAnotherProcess = waitFor(ids, {}, elsewhere);
        expect((await waitFor(ids, { wait_secs: 0 })).body).toEqual({ ended: [], pending: ids, missing: [] });
        await complete(worker, await leaseOne(worker, queue));
        await fail(worker, await leaseOne(worker, queue), { retryable: false });
        await cancel(a, ids[2]!);
        const ended = ['completed', 'failed', 'cancelled'].map((status, n) => ({ id: ids[n], status }));
        for (const reply of [await waiting, await inAnotherProcess]) {
          expect([reply.status, reply.body]).toEqual([200, { ended, pending: [], missing: [] }]);
        }
      });
    });

    it('or for any of them', async () => {
      await inTime(LONGEST_WAIT_SECS, async () => {
        const ids = await createJobs(a, newQueue(), 3);
        const waiting = waitFor(ids, { until: 'any' });
        await cancel(a, ids[1]!);
        const { body } = await waiting;
        expect(body).toEqual({ ended: [{ id: ids[1], status: 'cancelled' }], pending: [ids[0], ids[2]], missing: [] });
        expect((await waitFor(ids, { until: 'any' })).body).toEqual(body);
      });
    });

    it('answers at the deadline with what it knows then', async () => {
      const [first, second] = await createJobs(a, newQueue(), 2);
      await cancel(a, first!);
      const { body } = await waitFor([first!, second!], { wait_secs: 1 });
      expect(body).toEqual({ ended: [{ id: first, status: 'cancelled' }], pending: [second], missing: [] });
    });

    it('counts duplicates once, and what names no job as missing', async () => {
      const id = await createJob(a, newQueue());
      await cancel(a, id);
      const unknown = randomUUID();
      const asked = ['nonsense', id, unknown, id.toUpperCase(), id, 'nonsense'];
      const { status, body } = await waitFor(asked);
      const ended = [{ id, status: 'cancelled' }];
      expect([status, body]).toEqual([200, { ended, pending: [], missing: ['nonsense', unknown] }]);
    });

    it("refuses another tenant's id", async () => {
      const [own, theirs] = [await createJob(a, newQueue()), await createJob(b, newQueue())];
      for (const wait_secs of [0, 30]) {
        const reply = await waitFor([own, theirs], { wait_secs, until: 'any' });
        expect([reply.status, reply.body.code]).toEqual([403, 'forbidden']);
      }
    });

    it('takes 1 to 1000 ids, clamps the time, and takes nothing else', async () => {
      const id = await createJob(a, newQueue());
      await cancel(a, id);
      expect((await waitFor([id], { wait_secs: 1000 })).status).toBe(200);
      expect((await waitFor([id], { wait_secs: -1, until: null })).status).toBe(200);
      expect((await a.post('/api/v1/jobs/wait', { job_ids: [id] })).status).toBe(200);
      expect((await waitFor(Array.from({ length: 1000 }, () => randomUUID()))).status).toBe(200);
      const refused = [{ job_ids: [] }, { job_ids: Array(1001).fill(7) }, { job_ids: [7] }, {}, { job_ids: 'x' }];
      for (const body of [...refused, { job_ids: [id], until: 'some' }, { job_ids: [id], wait_secs: 1.5 }]) {
        const reply = await a.post('/api/v1/jobs/wait', body);
        expect([reply.status, reply.body.code]).toEqual([400, 'invalid_request']);
      }
      expect((await worker.post('/api/v1/jobs/wait', { job_ids: [id] })).status).toBe(401);
      expect((await server.nobody.post('/api/v1/jobs/wait', { job_ids: [id] })).status).toBe(401);
    });

    it('is open to credentials that may only read', async () => {
      const id = await createJob(a, newQueue());
      await cancel(a, id);
      const reply = await server.as('a-key-that-may-only-read').post('/api/v1/jobs/wait', { job_ids: [id] });
      expect([reply.status, reply.body.ended]).toEqual([200, [{ id, status: 'cancelled' }]]);
    });
  });

  it('writes nothing', async () => {
    const id = await createJob(a, newQueue());
    const waiting = waitFor([id], { wait_secs: 1 });
    const single = a.get(`/api/v1/jobs/${id}?wait_secs=1`);
    const count = async (): Promise<unknown> =>
      (await database.query('SELECT (SELECT count(*) FROM millrace.watches)::int AS n'))[0]!.n;
    expect(await count()).toBe(0);
    await Promise.all([waiting, single]);
    expect(await count()).toBe(0);
    expect(await database.query('SELECT FROM millrace.transitions')).toEqual([]);
  });

  it('is bounded per tenant, and a caller that leaves makes room', async () => {
    const ids = await createJobs(a, newQueue(), 1000);
    const leaving = new AbortController();
    const body = { job_ids: ids, wait_secs: 30 };
    // Again and again: the longest wait may be over before the next line runs, on a machine that is held up.
    const hold = async (): Promise<void> => {
      while (!leaving.signal.aborted)
        await a.send('POST', '/api/v1/jobs/wait', { body, signal: leaving.signal }).catch(() => null);
    };
    const held = Array.from({ length: 5 }, hold);
    // Before anybody else asks: a call that came between them would be in the way of the last.
    await until(() => areWaiting(server, 5), { what: 'all of them to wait' });
    const refusal = (ask: () => Promise<Reply>): Promise<Reply> =>
      until(async () => [await ask()].find(({ status }) => status === 503), { what: 'a refusal' });
    const { status, body: answer, headers } = await refusal(() => waitFor(ids.slice(0, 1), { wait_secs: 1 }));
    expect([status, answer.code, headers.get('retry-after')]).toEqual([503, 'unavailable', expect.any(String)]);
    await refusal(() => a.get(`/api/v1/jobs/${ids[0]}?wait_secs=1`));
    const theirs = await createJob(b, newQueue());
    expect((await waitFor([theirs], { wait_secs: 1 }, b)).body.pending).toEqual([theirs]);
    expect((await waitFor(ids, { wait_secs: 0 })).status).toBe(200);
    leaving.abort();
    await Promise.all(held);
    await until(async () => (await waitFor(ids.slice(0, 1), { wait_secs: 1 })).status === 200, { what: 'room' });
  });

  it('ends with the server, which answers with the state as it is', async () => {
    await inTime(LONGEST_WAIT_SECS, async (time) => {
      const stopping = await startAnotherServer(database, { mode: 'api' });
      const client = createClient(stopping.apiUrl!, KEY_A);
      const id = await createJob(a, newQueue());
      time.restart();
      const waiting = [client.get(`/api/v1/jobs/${id}?wait_secs=30`), waitFor([id], {}, client)];
      await until(async () => time.isUp || (await areWaiting(stopping, 2)), { what: 'both to wait' });
      await stopping.stop();
      const [single, many] = await Promise.all(waiting);
      expect([single!.status, single!.body.status]).toEqual([200, 'pending']);
      expect([many!.status, many!.body]).toEqual([200, { ended: [], pending: [id], missing: [] }]);
    });
  });
});
