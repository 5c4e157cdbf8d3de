import { describe, expect, it } from 'vitest';
import { useTestServer } from '../../support/server.js';
import { newQueue } from '../../engine/kit.js';

const { a, b, worker } = await useTestServer({ config: { mode: 'api' } });
const STRICT = { prefer: 'handling=strict' };
const post = (path: string, body: unknown, headers = {}) => a.post(`/api/v1${path}`, body, headers);
const put = (path: string, body: unknown, headers = {}) => a.send('PUT', `/api/v1${path}`, { body, headers });

let named = 0;
const cron = (fields: object = {}): object => {
  return { name: `w${++named}`, cron_expr: '@yearly', task_name: 't', queue: 'q', ...fields };
};
const flow = (step: object = {}, fields: object = {}): object => {
  return { name: 'w', steps: [{ name: 'one', task_name: 't', queue: 'q', ...step }], ...fields };
};

describe('a create with something unknown', () => {
  it.each([
    ['/jobs', { task_name: 't', queue: 'mail' }, 'unknown field "queue"; did you mean config.queue?'],
    ['/jobs', { task_name: 't', taskName: 'x' }, 'unknown field "taskName"; did you mean task_name?'],
    ['/jobs', { task_name: 't', timeout: 5 }, 'unknown field "timeout"; did you mean config.timeout?'],
    ['/jobs', { task_name: 't', delay: 5 }, 'unknown field "delay"; did you mean delay_secs?'],
    ['/jobs', { task_name: 't', args: [] }, 'unknown field "args"; did you mean payload?'],
    ['/jobs', { task_name: 't', zebra: 1 }, 'unknown field "zebra"'],
    ['/jobs', { task_name: 't', ['__proto__']: 1 }, 'unknown field "__proto__"'],
    ['/jobs', { task_name: 't', constructor: 1 }, 'unknown field "constructor"'],
    [
      '/jobs',
      { task_name: 't', config: { max_retrys: 1 } },
      'unknown field "config.max_retrys"; did you mean config.max_retries?',
    ],
    ['/jobs', { task_name: 't', config: { run_at: 'x' } }, 'unknown field "config.run_at"; did you mean run_at?'],
    [
      '/jobs/batch',
      { jobs: [{ task_name: 't' }, { task_name: 't', queue: 'x' }] },
      'unknown field "jobs[1].queue"; did you mean jobs[1].config.queue?',
    ],
    [
      '/jobs/batch',
      { jobs: [{ task_name: 't' }], task_name: 't' },
      'unknown field "task_name"; did you mean jobs[].task_name?',
    ],
    ['/workflows', flow({}, { contxt: {} }), 'unknown field "contxt"; did you mean context?'],
    ['/workflows', flow({ dependsOn: [] }), 'unknown field "steps[0].dependsOn"; did you mean steps[0].depends_on?'],
    [
      '/workflows',
      flow({ config: { queue: 'q' } }),
      'unknown field "steps[0].config.queue"; did you mean steps[0].queue?',
    ],
    ['/cron', cron({ config: { queue: 'q' } }), 'unknown field "config.queue"; did you mean queue?'],
    ['/cron', cron({ time_zone: 'UTC' }), 'unknown field "time_zone"; did you mean timezone?'],
  ])('POST %s %j says so, last of all', async (path, body, warning) => {
    const reply = await post(path, body);
    expect(reply.status, reply.text).toBe(201);
    expect(reply.body.warnings).toEqual([warning]);
    expect(Object.keys(reply.body as object).at(-1)).toBe('warnings');
    const strict = await post(path, body, STRICT);
    expect([strict.status, strict.body.code]).toEqual([400, 'invalid_request']);
    expect(strict.headers.get('preference-applied')).toBe('handling=strict');
    expect(warning).toContain(`"${strict.body.details[0].path}"`);
    expect(strict.body.error).toBe(`${strict.body.details[0].path} ${strict.body.details[0].message}`);
    expect(strict.body.details).toHaveLength(1);
  });

  it('PUT /cron/{name} says so too', async () => {
    const body = { cron_expr: '@yearly', task_name: 't', tz: 'UTC' };
    const warnings = ['unknown field "tz"; did you mean timezone?'];
    expect((await put('/cron/by-name', body)).body).toEqual({ cron_id: expect.any(String), warnings });
    const again = await put('/cron/by-name', body);
    expect([again.status, again.body.warnings]).toEqual([200, warnings]);
    expect((await put('/cron/by-name', body, STRICT)).status).toBe(400);
  });

  it('is created all the same, and refused without a trace if strict', async () => {
    const queue = newQueue();
    const create = (headers: object) => post('/jobs', { task_name: 't', config: { queue }, bogus: 1 }, headers);
    const { body } = await create({});
    expect((await a.get(`/api/v1/jobs/${body.job_id}`)).body.queue_name).toBe(queue);
    await create(STRICT);
    expect((await a.get(`/api/v1/jobs?queue=${queue}`)).body.jobs).toHaveLength(1);
  });

  it('says so of parameters, and of bodies where none is taken', async () => {
    const made = await a.post('/api/v1/jobs?queue=x', { task_name: 't', config: { queue: newQueue() } });
    expect(made.body.warnings).toEqual(['unknown parameter "queue"']);
    const again = await post(`/jobs/${made.body.job_id}/rerun`, { payload: { n: 2 } });
    expect([again.status, again.body.warnings]).toEqual([201, ['unknown field "payload"']]);
  });

  it('says at most twenty things, each of them short', async () => {
    const many = Object.fromEntries(Array.from({ length: 1000 }, (_, n) => [`${'x'.repeat(1000)}${n}`, n]));
    const reply = await post('/jobs', { task_name: 't', ...many });
    expect(reply.body.warnings).toHaveLength(20);
    expect(reply.text.length).toBeLessThan(3_000);
    const strict = await post('/jobs', { task_name: 't', ...many }, STRICT);
    expect([strict.status, strict.body.details.length]).toEqual([400, 20]);
  });

  it('never looks into what belongs to the caller', async () => {
    const inner = { queue: 'x', zebra: { config: { nonsense: 1 } } };
    const bodies: [string, object][] = [
      ['/jobs', { task_name: 't', payload: inner, metadata: inner }],
      ['/jobs/batch', { jobs: [{ task_name: 't', payload: inner, metadata: inner }] }],
      ['/workflows', flow({ payload: inner, metadata: inner }, { context: inner, metadata: inner })],
      ['/cron', cron({ payload: inner })],
    ];
    for (const [path, body] of bodies) {
      const reply = await post(path, body, STRICT);
      expect(reply.status, reply.text).toBe(201);
      expect(reply.body).not.toHaveProperty('warnings');
      expect(reply.headers.get('preference-applied')).toBe('handling=strict');
    }
  });

  it('accepts both spellings of the timeout, and null for anything optional', async () => {
    const config = { timeout: 5, timeout_secs: 5, queue: null };
    const reply = await post('/jobs', { task_name: 't', config, payload: null, run_at: null }, STRICT);
    expect([reply.status, reply.body.warnings]).toEqual([201, undefined]);
    expect((await post('/cron', cron({ config: { timeout: 5 } }), STRICT)).status).toBe(201);
    expect((await post('/cron', cron({ config: { timeout_secs: 5 } }), STRICT)).status).toBe(201);
  });
});

describe('a list with something unknown', () => {
  it.each([
    ['/jobs?task_name=x', 'unknown parameter "task_name"; did you mean task?'],
    ['/jobs?state=failed', 'unknown parameter "state"; did you mean status?'],
    ['/jobs?limt=5', 'unknown parameter "limt"; did you mean limit?'],
    ['/jobs?limit=500', 'limit is out of range (1 to 100): 100 is used'],
    ['/jobs?limit=0', 'limit is out of range (1 to 100): 1 is used'],
    ['/workflows?createdAfter=2026-01-01', 'unknown parameter "createdAfter"; did you mean created_after?'],
    ['/cron?zebra=1', 'unknown parameter "zebra"'],
    ['/dlq?limit=-1', 'limit is out of range (1 to 100): 1 is used'],
    ['/jobs?offset=-1', 'offset is out of range (0 or more): 0 is used'],
    ['/workflows?offset=-9223372036854775809', 'offset is out of range (0 or more): 0 is used'],
    ['/cron/{id}/next?count=0', 'count is out of range (1 to 100): 1 is used'],
    ['/cron/{id}/next?count=101', 'count is out of range (1 to 100): 100 is used'],
    ['/cron/{id}/next?counts=5', 'unknown parameter "counts"; did you mean count?'],
  ])('GET %s says so, last of all', async (given, warning) => {
    const path = given.replace('{id}', (await post('/cron', cron())).body.cron_id as string);
    const reply = await a.get(`/api/v1${path}`);
    expect(reply.status, reply.text).toBe(200);
    expect(reply.body.warnings).toEqual([warning]);
    expect(Object.keys(reply.body as object).at(-1)).toBe('warnings');
    const strict = await a.get(`/api/v1${path}`, STRICT);
    expect([strict.status, strict.body.code, strict.body.details.length]).toEqual([400, 'invalid_request', 1]);
    expect(strict.headers.get('preference-applied')).toBe('handling=strict');
  });

  it('says nothing of a number that is at the end of its range, or that a cursor makes void', async () => {
    await post('/jobs/batch', { jobs: [{ task_name: 't' }, { task_name: 't' }] });
    const first = await a.get('/api/v1/jobs?limit=1&offset=0', STRICT);
    expect([first.status, first.body.warnings]).toEqual([200, undefined]);
    const next = await a.get(`/api/v1/jobs?limit=100&offset=-1&cursor=${first.body.next_cursor}`, STRICT);
    expect([next.status, next.body.offset]).toEqual([200, 0]);
  });

  it.each([
    '/jobs?limit=100&offset=0&order_by=created_at%20ASC&include_total=true&status=failed&queue=q',
    '/workflows?queue=q&status=failed',
    '/cron?status=failed&queue=q',
    '/dlq?status=failed&queue=q',
    '/jobs?created_after=2026-01-01T00:00:00Z&created_before=2026-01-02T00:00:00Z',
  ])('GET %s has nothing to say', async (path) => {
    const reply = await a.get(`/api/v1${path}`, STRICT);
    expect([reply.status, reply.body.warnings]).toEqual([200, undefined]);
  });

  it('says so at the end of a page that is streamed', async () => {
    const queue = newQueue();
    const payload = { s: 'x'.repeat(3_500_000) };
    for (let n = 0; n < 6; n++) {
      const made = await b.post('/api/v1/jobs', { task_name: 't', payload, config: { queue } });
      expect(made.status).toBe(201);
    }
    const { body } = await b.get(`/api/v1/jobs?queue=${queue}&offset=0&zebra=1`);
    expect(body.jobs).toHaveLength(6);
    expect(body.warnings).toEqual(['unknown parameter "zebra"']);
  });
});

describe('the preference', () => {
  it.each([
    ['handling=strict', true],
    ['HANDLING=Strict', true],
    ['handling="strict"', true],
    ['respond-async, handling = strict; x=y', true],
    ['handling=lenient', false],
    ['handling=lenient, handling=strict', false],
    ['return=minimal', false],
    ['x-handling=strict', false],
  ])('%j is strict: %j', async (prefer, strict) => {
    const reply = await post('/jobs', { task_name: 't', zebra: 1 }, { prefer });
    expect(reply.status).toBe(strict ? 400 : 201);
    expect(reply.headers.get('preference-applied')).toBe(strict ? 'handling=strict' : null);
  });

  it('is for creates and lists alone: a report is never refused for what it says more', async () => {
    const queue = newQueue();
    await post('/jobs', { task_name: 't', config: { queue } });
    const { body } = await worker.post(`/api/v1/queues/${queue}/lease`, { zebra: 1 }, STRICT);
    const [{ job, lease_token }] = body.jobs;
    const report = { lease_token, result: {}, zebra: 1 };
    expect((await worker.post(`/api/v1/jobs/${job.id}/complete`, report, STRICT)).status).toBe(204);
  });
});
