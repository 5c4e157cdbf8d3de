import { describe, expect, it } from 'vitest';
import type { DeadLetterRecord, JobRecord } from '../../../src/domain/records.js';
import type { Page } from '../../../src/engine/api.js';
import { deadLetterRecord, EMPTY_PAGE, jobRecord, useApp } from '../harness.js';

describe('lists', async () => {
  let jobs: Page<JobRecord> = EMPTY_PAGE;
  let letters: Page<DeadLetterRecord> = EMPTY_PAGE;
  const { a, engine } = await useApp({
    engine: { jobs: { list: async () => jobs }, deadLetters: { list: async () => letters } },
  });
  const asked = async (query: string): Promise<unknown> => {
    expect((await a.get(`/api/v1/jobs?${query}`)).status).toBe(200);
    return engine.last('jobs.list')[1];
  };

  it('have fifty items, newest first, by default', async () => {
    expect(await asked('')).toEqual({
      limit: 50,
      offset: 0,
      ascending: false,
      includeTotal: false,
      cursor: null,
      createdAfter: null,
      createdBefore: null,
      statuses: [],
      queue: null,
      task: null,
      due: null,
      error: null,
      metadata: null,
      workflowId: null,
      parentId: null,
      idempotencyKey: null,
    });
  });

  it.each([
    ['limit=7', { limit: 7 }],
    ['limit=0', { limit: 1 }],
    ['limit=-3', { limit: 1 }],
    ['limit=101', { limit: 100 }],
    ['limit=9223372036854775808', { limit: 100 }],
    [`limit=${'9'.repeat(400)}`, { limit: 100 }],
    ['offset=12', { offset: 12 }],
    ['offset=-1', { offset: 0 }],
    [`offset=${'9'.repeat(30)}`, { offset: Number.MAX_SAFE_INTEGER }],
    ['cursor=abc&offset=9', { cursor: 'abc', offset: 0 }],
    ['order_by=created_at%20ASC', { ascending: true }],
    ['order_by=created_at+ASC', { ascending: true }],
    ['order_by=created_at%20DESC', { ascending: false }],
    ['include_total=true', { includeTotal: true }],
    ['include_total=1', { includeTotal: true }],
    ['include_total=false', { includeTotal: false }],
    ['include_total=0', { includeTotal: false }],
    ['status=retrying', { statuses: ['retrying'] }],
    ['status=failed,cancelled', { statuses: ['failed', 'cancelled'] }],
    ['status=%20failed%20,+cancelled,failed', { statuses: ['failed', 'cancelled'] }],
    ['task=a%20b', { task: 'a b' }],
    ['workflow_id=x', { workflowId: 'x' }],
    ['idempotency_key=k', { idempotencyKey: 'k' }],
    ['view=full', {}],
    ['queue=a%2Fb%20%C3%BC', { queue: 'a/b ü' }],
    ['created_after=2026-01-31T09:00:00.123456Z', { createdAfter: '2026-01-31T09:00:00.123456Z' }],
    ['created_before=2026-01-31T10:00:00%2B01:00', { createdBefore: '2026-01-31T09:00:00.000000Z' }],
    ['created_before=2026-01-31T10:00:00+01:00', { createdBefore: '2026-01-31T09:00:00.000000Z' }],
    ['unknown=1&tenant_id=x', {}],
  ])('read %s', async (query, expected) => {
    expect(await asked(query)).toMatchObject(expected);
  });

  it.each([
    'limit=ten',
    'limit=',
    'limit=1.5',
    'limit=1e3',
    'limit=0x10',
    'limit=%2B5',
    'limit=1&limit=2',
    'offset=x',
    'offset=NaN',
    'order_by=created_at',
    'order_by=created_at%20asc',
    'order_by=id%20ASC',
    'order_by=created_at%20ASC;drop',
    'order_by=',
    'include_total=yes',
    'include_total=',
    'status=scheduled',
    'status=PENDING',
    'status=',
    'status=failed,',
    'status=failed,scheduled',
    'view=short',
    'task=a%00b',
    'idempotency_key=a&idempotency_key=b',
    'status=pending&status=failed',
    'status=__proto__',
    'created_after=yesterday',
    'created_after=2026-01-31',
    'created_after=2026-01-31T09:00:00',
    'created_before=2026-02-30T09:00:00Z',
    'created_before=1767225600',
    'queue=a%00b',
    'cursor=%00',
    'cursor=a&cursor=b',
  ])('refuse %s', async (query) => {
    const reply = await a.get(`/api/v1/jobs?${query}`);
    expect([reply.status, reply.body.code]).toEqual([400, 'invalid_request']);
    expect(reply.body.details[0].path).toBe(query.split('=')[0]);
  });

  it('refuse a query that is not UTF-8', async () => {
    expect((await a.get('/api/v1/jobs?queue=%ff%fe')).status).toBe(400);
    expect((await a.get('/api/v1/jobs?%&&==&a')).status).toBeLessThan(500);
  });

  it('show a page that has a successor', async () => {
    const items = [jobRecord(), jobRecord({ task_name: 'other' })];
    jobs = { ...EMPTY_PAGE, items, nextCursor: 'next"one', prevCursor: 'prev', total: 1234 };
    const { body } = await a.get('/api/v1/jobs?limit=2&offset=3&include_total=true');
    expect(body).toMatchObject({ limit: 2, offset: 3, has_more: true, next_cursor: 'next"one', total: 1234 });
    expect(body.prev_cursor).toBe('prev');
    expect(body.jobs).toMatchObject([{ task_name: 'echo' }, { task_name: 'other' }]);
  });

  it('show the last page without a cursor, and no total by default', async () => {
    jobs = EMPTY_PAGE;
    const { body } = await a.get('/api/v1/jobs?cursor=abc&offset=5');
    expect(body).toEqual({ jobs: [], limit: 50, offset: 0, has_more: false });
  });

  it('of dead letters ignore status and queue', async () => {
    letters = { ...EMPTY_PAGE, items: [deadLetterRecord()], total: 0 };
    const reply = await a.get('/api/v1/dlq?status=nonsense&queue=%00&limit=100&include_total=1');
    expect(reply.body).toEqual({
      dead_letters: [deadLetterRecord()],
      limit: 100,
      offset: 0,
      has_more: false,
      total: 0,
    });
    expect(engine.last('deadLetters.list')[1]).not.toHaveProperty('status');
    expect((await a.get('/api/v1/dlq?limit=x')).status).toBe(400);
  });
});

describe('dead letters', async () => {
  const { a, engine } = await useApp();

  it('have a numeric id', async () => {
    const reply = await a.get('/api/v1/dlq/17');
    expect(reply.body).toEqual(deadLetterRecord());
    expect(Object.keys(reply.body as object)).toEqual([
      ...['id', 'job_id', 'queue_name', 'task_name', 'reason', 'error_message'],
      ...['created_at', 'replayed_at', 'replay_job_id', 'tenant_id', 'payload_bytes', 'retry_count', 'fingerprint'],
    ]);
    expect(engine.last('deadLetters.get')).toEqual(['tenant-a', '17']);
  });

  it.each(['0', '1', '9223372036854775807'])('may have the id %s', async (id) => {
    expect((await a.get(`/api/v1/dlq/${id}`)).status).toBe(200);
    expect((await a.post(`/api/v1/dlq/${id}/replay`)).status).toBe(201);
  });

  it.each(['x', '-1', '1.0', '01', '+1', '1e3', '%20', '%00', '9223372036854775808', '9'.repeat(500), '0x1', '1%20'])(
    'cannot have the id %s',
    async (id) => {
      for (const reply of [await a.get(`/api/v1/dlq/${id}`), await a.post(`/api/v1/dlq/${id}/replay`)]) {
        expect([reply.status, reply.body.code]).toEqual([404, 'not_found']);
      }
    },
  );

  it('are replayed as a new job', async () => {
    const reply = await a.post('/api/v1/dlq/17/replay');
    expect([reply.status, Object.keys(reply.body as object)]).toEqual([201, ['job_id']]);
    expect(reply.headers.get('location')).toBe(`/api/v1/jobs/${reply.body.job_id}`);
    expect(engine.last('deadLetters.replay')).toEqual(['tenant-a', '17', null, null]);
  });
});
