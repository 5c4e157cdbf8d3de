import { describe, expect, it } from 'vitest';
import { connect } from 'node:net';
import type { LeaseRequest } from '../../../src/engine/api.js';
import { JOB_ID, jobRecord, LEASE_TOKEN, startApp, useApp, WORKER_TOKEN } from '../harness.js';

describe('the worker protocol', async () => {
  const leased = [
    { job: jobRecord({ status: 'running', payload: '{"n": 12345678901234567890}' }), leaseToken: LEASE_TOKEN },
    { job: jobRecord({ status: 'running', task_name: 'second' }), leaseToken: JOB_ID },
  ];
  const { worker, engine } = await useApp({ engine: { worker: { lease: async () => leased } } });
  const lease = async (body?: unknown, queue = 'q'): Promise<unknown> => {
    expect((await worker.post(`/api/v1/queues/${queue}/lease`, body)).status).toBe(200);
    return engine.last('worker.lease')[0];
  };

  it("leases in the engine's order, with tokens beside the jobs", async () => {
    const reply = await worker.post('/api/v1/queues/q/lease');
    expect(reply.body.jobs).toMatchObject([
      { job: { task_name: 'echo', status: 'running' }, lease_token: LEASE_TOKEN },
      { job: { task_name: 'second' }, lease_token: JOB_ID },
    ]);
    expect(reply.body.jobs[0].job).not.toHaveProperty('lease_token');
    expect(reply.text).toContain('{"n": 12345678901234567890}');
  });

  it.each([undefined, {}, { max_jobs: null, lease_secs: null, wait_secs: null }, '{}'])(
    'leases one job for thirty seconds without waiting by default (%j)',
    async (body) => {
      expect(await lease(body)).toEqual({
        ...{ queue: 'q', maxJobs: 1, leaseSecs: 30, waitSecs: 0, workerId: null, slots: null, tasks: null },
      });
    },
  );

  it.each([
    [{ max_jobs: 0 }, { maxJobs: 1 }],
    [{ max_jobs: -5 }, { maxJobs: 1 }],
    [{ max_jobs: 101 }, { maxJobs: 100 }],
    [{ max_jobs: 100 }, { maxJobs: 100 }],
    [{ lease_secs: 0 }, { leaseSecs: 1 }],
    [{ lease_secs: 3601 }, { leaseSecs: 3600 }],
    [{ lease_secs: 1e300 }, { leaseSecs: 3600 }],
    [{ wait_secs: -1 }, { waitSecs: 0 }],
    [{ wait_secs: 31 }, { waitSecs: 30 }],
  ])('clamps %j', async (body, expected) => {
    expect(await lease(body)).toMatchObject(expected);
  });

  it.each([{ max_jobs: '1' }, { max_jobs: 1.5 }, { lease_secs: true }, { lease_secs: [] }, { wait_secs: {} }])(
    'refuses %j',
    async (body) => {
      const reply = await worker.post('/api/v1/queues/q/lease', body);
      expect([reply.status, reply.body.details[0].path]).toEqual([400, Object.keys(body)[0]]);
    },
  );

  it('accepts any queue name, percent-encoded', async () => {
    for (const queue of ['a b', 'a/b', 'ü', '😀'.repeat(255), 'q'.repeat(255), '%', '?', ' ', "'; drop"]) {
      expect(await lease({}, encodeURIComponent(queue))).toMatchObject({ queue });
    }
  });

  it('takes the name of the worker, within its bounds', async () => {
    expect(await lease({ worker_id: '😀'.repeat(255) })).toMatchObject({ workerId: '😀'.repeat(255) });
    for (const worker_id of ['', 'w'.repeat(256), 'a\0', 7]) {
      const reply = await worker.post('/api/v1/queues/q/lease', { worker_id });
      expect([reply.status, reply.body.details[0].path]).toEqual([400, 'worker_id']);
    }
  });

  it.each([encodeURIComponent('😀'.repeat(256)), 'q'.repeat(256), '%00', 'a%00b'])(
    'refuses an invalid queue name: %.20s',
    async (queue) => {
      const reply = await worker.post(`/api/v1/queues/${queue}/lease`);
      expect([reply.status, reply.body.code]).toEqual([400, 'invalid_request']);
    },
  );

  const beat = (extendSecs: number): object => ({
    ...{ id: JOB_ID, token: LEASE_TOKEN, extendSecs, progress: null, logs: null },
  });

  it('heartbeats', async () => {
    const reply = await worker.post(`/api/v1/jobs/${JOB_ID}/heartbeat`, { lease_token: LEASE_TOKEN, extend_secs: 60 });
    expect([reply.status, reply.body]).toEqual([200, { status: 'running' }]);
    expect(engine.last('worker.heartbeat')).toEqual([beat(60)]);
  });

  it.each([
    [undefined, 30],
    [null, 30],
    [0, 1],
    [3601, 3600],
  ])('extends a lease by %s as %s', async (extend_secs, expected) => {
    await worker.post(`/api/v1/jobs/${JOB_ID}/heartbeat`, { lease_token: LEASE_TOKEN, extend_secs });
    expect(engine.last('worker.heartbeat')).toEqual([beat(expected)]);
  });

  it('completes', async () => {
    const body = { lease_token: LEASE_TOKEN, result: { ok: true } };
    const reply = await worker.post(`/api/v1/jobs/${JOB_ID}/complete`, body);
    expect([reply.status, reply.text]).toEqual([204, '']);
    expect(engine.last('worker.complete')).toEqual([JOB_ID, LEASE_TOKEN, '{"ok":true}', null]);
    for (const result of [undefined, null]) {
      await worker.post(`/api/v1/jobs/${JOB_ID}/complete`, { lease_token: LEASE_TOKEN, result });
      expect(engine.last('worker.complete')).toEqual([JOB_ID, LEASE_TOKEN, '{}', null]);
    }
  });

  it('fails, retryable by default', async () => {
    const NOTHING_MORE = { retryAfterSecs: null, details: null, logs: null };
    const fail = (body: object) => worker.post(`/api/v1/jobs/${JOB_ID}/fail`, { lease_token: LEASE_TOKEN, ...body });
    const reply = await fail({ error: 'no luck' });
    expect([reply.status, reply.text]).toEqual([204, '']);
    expect(engine.last('worker.fail')).toEqual([JOB_ID, LEASE_TOKEN, 'no luck', true, NOTHING_MORE]);
    await fail({ error: '', retryable: null });
    expect(engine.last('worker.fail')).toEqual([JOB_ID, LEASE_TOKEN, '', true, NOTHING_MORE]);
    await fail({ error: 'x', retryable: false });
    expect(engine.last('worker.fail')).toEqual([JOB_ID, LEASE_TOKEN, 'x', false, NOTHING_MORE]);
  });

  it('cleans an error text instead of refusing it', async () => {
    const fail = (error: string) => worker.post(`/api/v1/jobs/${JOB_ID}/fail`, { lease_token: LEASE_TOKEN, error });
    expect((await fail('a\0b\ud800c😀')).status).toBe(204);
    expect(engine.last('worker.fail')[2]).toBe('a\ufffdb\ufffdc😀');
    expect((await fail('x'.repeat(1_000_000))).status).toBe(204);
    expect(engine.last('worker.fail')[2]).toBe('x'.repeat(65_536));
  });

  it.each([
    ['heartbeat', {}, 'lease_token'],
    ['heartbeat', { lease_token: null }, 'lease_token'],
    ['heartbeat', { lease_token: 7 }, 'lease_token'],
    ['heartbeat', { lease_token: 'x', extend_secs: '1' }, 'extend_secs'],
    ['heartbeat', { lease_token: 'x', progress: 7 }, 'progress'],
    ['heartbeat', { lease_token: 'x', progress: [] }, 'progress'],
    ['release', {}, 'lease_token'],
    ['release', { lease_token: 'x', delay_secs: -1 }, 'delay_secs'],
    ['release', { lease_token: 'x', delay_secs: 31_536_001 }, 'delay_secs'],
    ['fail', { lease_token: 'x', error: 'x', retry_after_secs: 2_592_001 }, 'retry_after_secs'],
    ['fail', { lease_token: 'x', error: 'x', retry_after_secs: -1 }, 'retry_after_secs'],
    ['fail', { lease_token: 'x', error: 'x', details: 'x' }, 'details'],
    ['fail', { lease_token: 'x', error: 'x', details: { stack: 7 } }, 'details.stack'],
    ['complete', {}, 'lease_token'],
    ['complete', { lease_token: 'x', result: [] }, 'result'],
    ['complete', { lease_token: 'x', result: 'done' }, 'result'],
    ['fail', { error: 'x' }, 'lease_token'],
    ['fail', { lease_token: 'x' }, 'error'],
    ['fail', { lease_token: 'x', error: null }, 'error'],
    ['fail', { lease_token: 'x', error: { message: 'x' } }, 'error'],
    ['fail', { lease_token: 'x', error: 'x', retryable: 'false' }, 'retryable'],
  ])('%s refuses %j', async (operation, body, path) => {
    const reply = await worker.post(`/api/v1/jobs/${JOB_ID}/${operation}`, body);
    expect([reply.status, reply.body.code, reply.body.details[0].path]).toEqual([400, 'invalid_request', path]);
  });

  it.each(['', 'nonsense', 'a\0b', '\ud800'])('leaves the token %j to the engine', async (token) => {
    expect((await worker.post(`/api/v1/jobs/${JOB_ID}/complete`, { lease_token: token })).status).toBe(204);
    expect(engine.last('worker.complete')[1]).toBe(token);
  });

  it('requires a body where a token is required', async () => {
    for (const operation of ['heartbeat', 'complete', 'fail']) {
      expect((await worker.post(`/api/v1/jobs/${JOB_ID}/${operation}`)).status).toBe(400);
    }
  });
});

/** An engine whose leases never find anything and end only when their signal fires. */
function patientEngine() {
  let arrived!: (wait: { request: LeaseRequest; signal: AbortSignal }) => void;
  const waiting = new Promise<{ request: LeaseRequest; signal: AbortSignal }>((resolve) => (arrived = resolve));
  const lease = (request: LeaseRequest, signal: AbortSignal): Promise<never> =>
    new Promise((_, reject) => {
      signal.addEventListener('abort', () => reject(new Error('aborted')));
      arrived({ request, signal });
    });
  return { waiting, lease };
}

describe('a long poll', () => {
  it('is aborted when its client hangs up', async () => {
    const { waiting, lease } = patientEngine();
    const { port, close } = await startApp({ engine: { worker: { lease } } });
    const body = '{"wait_secs":30}';
    const socket = connect(port, '127.0.0.1');
    socket.write(
      `POST /api/v1/queues/q/lease HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${WORKER_TOKEN}\r\n` +
        `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
    const { request, signal } = await waiting;
    expect(request.waitSecs).toBe(30);
    expect(signal.aborted).toBe(false);
    const aborted = new Promise((resolve) => signal.addEventListener('abort', resolve));
    socket.destroy();
    await aborted;
    await close();
  });

  it('comes back empty when the server closes', async () => {
    const { waiting, lease } = patientEngine();
    const { worker, close } = await startApp({ engine: { worker: { lease } } });
    const reply = worker.post('/api/v1/queues/q/lease', { wait_secs: 30 });
    await waiting;
    await close();
    expect((await reply).body).toEqual({ jobs: [] });
  });

  it('does not start once shutdown has', async () => {
    const { worker, engine, close } = await startApp({ isShuttingDown: () => true });
    const reply = await worker.post('/api/v1/queues/q/lease', { wait_secs: 30 });
    expect([reply.status, reply.body]).toEqual([200, { jobs: [] }]);
    expect(reply.headers.get('connection')).toBe('close');
    expect(engine.last('worker.lease')).toEqual([]);
    await close();
  });

  it('does not abort an answered call', async () => {
    let seen: AbortSignal | undefined;
    const lease = async (_request: LeaseRequest, signal: AbortSignal) => ((seen = signal), []);
    const { worker, close } = await startApp({ engine: { worker: { lease } } });
    await worker.post('/api/v1/queues/q/lease');
    await close();
    expect(seen?.aborted).toBe(false);
  });

  it('reports the error if the engine fails for another reason', async () => {
    const lease = async (): Promise<never> => Promise.reject(new Error('broken'));
    const { worker, close } = await startApp({ engine: { worker: { lease } } });
    expect((await worker.post('/api/v1/queues/q/lease')).status).toBe(500);
    await close();
  });
});
