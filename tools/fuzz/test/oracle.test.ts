import { describe, expect, it } from 'vitest';
import { openApiDocument } from '@millrace/server';
import { Random } from '@millrace/tools-shared';
import type { Answer } from '../src/answer.js';
import type { Case } from '../src/draft.js';
import { learn } from '../src/learn.js';
import { CLASSES, makeCaseOf } from '../src/mutations/index.js';
import { operationsOf, type Document } from '../src/openapi.js';
import { judge } from '../src/oracle.js';
import type { Outcome } from '../src/raw-client.js';
import { SchemaChecker } from '../src/schema.js';
import { Memory, type Tenant } from '../src/tenants.js';
import type { World } from '../src/valid.js';

/** Those that are made from what earlier answers brought. */
const NEEDS_MEMORY = new Set(['path.foreign-id', 'path.mixed-lease', 'query.cursor']);

const A: Tenant = { name: 'tenant-a', token: 'key-a', mark: 'mark-of-a' };
const B: Tenant = { name: 'tenant-b', token: 'key-b', mark: 'mark-of-b' };
const ID = '019bd0e5-7c58-7a5f-9c0e-2f9f6a0f8f10';

const document = (await openApiDocument()) as Document;

const world = (): World => ({
  operations: operationsOf(document),
  checker: new SchemaChecker(document.components.schemas),
  callers: { tenants: [A, B], workerToken: 'worker', adminToken: 'admin', jwtSecret: 'secret' },
  memory: new Memory(),
  host: 'localhost',
  maxBodyBytes: 1000,
});

function request(id: string, { body, ...more }: Partial<Omit<Case, 'operation'>> & { body?: string } = {}): Case {
  const operation = world().operations.find((candidate) => candidate.id === id)!;
  const bytes = body === undefined ? null : Buffer.from(body);
  const draft = { method: operation.method, target: operation.path, version: '1.1', headers: [], body: bytes } as const;
  return { operation, caller: A, kind: 'none', draft, isRouted: true, ...more };
}

function answered(status: number, body: unknown = '', type = 'application/json; charset=utf-8'): Outcome {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const answer: Answer = {
    status,
    headers: new Map([['content-type', type], ...(type === 'bare' ? [] : NOSNIFF)]),
    body: Buffer.from(text),
    isOpen: false,
  };
  return { kind: 'answered', answers: [answer] };
}

const NOSNIFF = [['x-content-type-options', 'nosniff']] as const;
const problem = (code: string): object => ({ error: 'no', code, timestamp: '2026-01-31T09:00:00.000Z' });
const JOB = '{"task_name":"echo"}';

const LINE = { at: '2026-01-31T09:00:00Z', level: 'info', message: 'x' };
const LINES = JSON.stringify({ lease_token: ID, logs: Array.from({ length: 101 }, () => LINE) });

const rules = (testCase: Case, outcome: Outcome): string[] => judge(world(), testCase, outcome).map(({ rule }) => rule);

describe('a correct answer breaks no rule', () => {
  it.each<[string, Case, Outcome]>([
    ['a creation', request('createJob', { body: JOB }), answered(201, { job_id: ID })],
    ['an empty answer', request('cancelJob'), answered(204)],
    ['a report with too many lines', request('releaseJob', { body: LINES }), answered(204)],
    ['a refusal', request('createJob', { kind: 'json.drop', body: '{}' }), answered(400, problem('invalid_request'))],
    [
      'a caller who sees their own data',
      request('createJob', { kind: 'x' }),
      answered(400, { ...problem('invalid_request'), error: A.mark }),
    ],
    ['a worker, who sees everything', request('leaseJobs', { caller: 'worker' }), answered(200, { jobs: [] })],
    [
      'broken framing whose connection is closed',
      request('createJob', { kind: 'framing.cut', isRouted: false }),
      { kind: 'closed' },
    ],
    ['a body in chunks that is cut off', request('createJob', { kind: 'chunked.large' }), { kind: 'closed' }],
    ['a poll that was asked to wait', request('leaseJobs', { body: '{"wait_secs":5}' }), { kind: 'hung' }],
  ])('%s', (_what, testCase, outcome) => {
    expect(rules(testCase, outcome)).toEqual([]);
  });
});

describe('every rule can be broken', () => {
  it.each<[string, Case, Outcome]>([
    ['server-error', request('listJobs'), answered(500, problem('internal'))],
    ['server-error', request('listJobs'), answered(503, problem('unavailable'))],
    ['no-answer', request('getHealth'), { kind: 'hung' }],
    ['no-answer', request('leaseJobs', { body: '{"wait_secs":0}' }), { kind: 'hung' }],
    ['no-answer', request('createJob', { body: JOB }), { kind: 'closed' }],
    ['malformed-answer', request('getHealth'), { kind: 'malformed', why: 'x' }],
    ['headers', request('cancelJob'), answered(204, '', 'bare')],
    ['error-shape', request('getJob'), answered(404, problem('nowhere'))],
    ['error-shape', request('getJob'), answered(404, { error: 'no' })],
    ['error-shape', request('getJob'), answered(404, 'Not Found', 'text/plain')],
    ['error-shape', request('getJob'), answered(404, '{"error":')],
    ['schema', request('createJob', { body: JOB }), answered(201, { job_id: 7 })],
    ['schema', request('listJobs'), answered(200, { jobs: [{ id: ID }] })],
    ['schema', request('cancelJob'), answered(204, 'x')],
    ['schema', request('watchJob'), answered(200, 'event: status\ndata: {}\n\n', 'text/event-stream')],
    ['undocumented-status', request('getJob', { kind: 'path.x' }), answered(409, problem('conflict'))],
    ['refused-valid', request('createJob', { body: JOB }), answered(400, problem('invalid_request'))],
    [
      'refused-valid',
      request('createJob', { kind: 'chunked.valid', body: JOB }),
      answered(400, problem('invalid_request')),
    ],
    ['no-answer', request('createJob', { kind: 'json.dense', body: JOB }), { kind: 'closed' }],
    ['status', request('getJob', { onlyStatuses: [401] }), answered(404, problem('not_found'))],
    ['leak', request('getJob'), answered(403, { ...problem('forbidden'), error: `belongs to ${B.mark}` })],
    ['leak', request('getJob', { caller: 'nobody' }), answered(401, { ...problem('unauthorized'), error: A.mark })],
    ['accepted-invalid', request('createJob', { body: '{}' }), answered(201, { job_id: ID })],
    ['accepted-invalid', request('createJob', { body: '{"task_name":"echo"' }), answered(201, { job_id: ID })],
    ['accepted-invalid', request('createJob', { body: '{"task_name":"a\\u0000"}' }), answered(201, { job_id: ID })],
  ])('%s', (rule, testCase, outcome) => {
    expect(rules(testCase, outcome)).toContain(rule);
  });
});

it('a refusal is told with its reason, so that a smaller request is one that fails for the same', () => {
  const refusal = answered(400, { ...problem('invalid_request'), error: 'queue "x" is odd' });
  expect(judge(world(), request('createJob', { body: JOB }), refusal)).toEqual([
    { rule: 'refused-valid', detail: '400 to a valid request: "queue \\"x\\" is odd"' },
  ]);
});

it('an id given to two tenants is noticed', () => {
  const same = world();
  const creation = request('createJob', { body: JOB });
  const answer = answered(201, { job_id: ID });
  expect(learn(same, creation, answer)).toEqual([]);
  expect(learn(same, { ...creation, caller: B }, answer)).toEqual([
    { rule: 'crossing', detail: `jobs ${ID} belongs to another tenant` },
  ]);
});

it('a schema keyword that nobody checks is refused, not ignored', () => {
  expect(() => world().checker.problems({ type: 'number', multipleOf: 2 }, 3)).toThrow('multipleOf');
});

describe('every class of requests', () => {
  it.each(CLASSES.filter((name) => !NEEDS_MEMORY.has(name)))('%s can be made, again and again alike', (name) => {
    const make = (): string => JSON.stringify(makeCaseOf(name, world(), new Random(7).fork(name)));
    expect(make()).toBe(make());
    expect(JSON.parse(make())).toMatchObject({ kind: expect.stringMatching(/^(none|[a-z]+\.[a-z0-9-]+)$/) as string });
  });

  it('of numbers out of range is told of where nobody asked for strictness, and refused where somebody did', () => {
    const made = Array.from({ length: 50 }, (_, n) => makeCaseOf('range.query', world(), new Random(n)));
    const strict = made.filter(({ kind }) => kind === 'range.strict');
    expect(strict.length).toBeGreaterThan(5);
    for (const { onlyStatuses, draft } of strict) {
      expect(onlyStatuses).toEqual([400]);
      expect(draft.headers).toContainEqual(['Prefer', 'handling=strict']);
    }
  });
});
