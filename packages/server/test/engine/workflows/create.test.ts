import { WORKFLOW_MAX_DEPENDENCIES } from '@millrace/contract';
import { describe, expect, it } from 'vitest';
import { TENANT_A, useTestServer } from '../../support/server.js';
import { chain, workflowsOf, hand, step } from './kit.js';

/** What a workflow may look like, and what becomes of it at once. Nothing runs by itself: the server is in api mode. */
const server = await useTestServer({ config: { mode: 'api', defaultQueue: 'the-default' } });
const { a, worker, database } = server;
const workflows = workflowsOf(a);
const remote = hand(worker, 'the-default');

const INSTANT = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{1,6}Z$/);

describe('creating a workflow', () => {
  it('answers with the id and where to find it', async () => {
    const reply = await a.post('/api/v1/workflows', { name: 'order', steps: chain('x') });
    expect(reply.status).toBe(201);
    expect(Object.keys(reply.body)).toEqual(['workflow_id']);
    expect(reply.headers.get('location')).toBe(`/api/v1/workflows/${reply.body.workflow_id}`);
    expect((await a.get(reply.headers.get('location')!)).body.id).toBe(reply.body.workflow_id);
  });

  it('returns the record with every field', async () => {
    const id = await workflows.create({
      name: 'order',
      context: { order: 7 },
      metadata: { by: 'shop' },
      steps: [
        { name: 'reserve', task_name: 'reserve_stock', payload: { sku: 'a-1' } },
        {
          name: 'charge',
          task_name: 'charge_card',
          depends_on: ['reserve'],
          config: { timeout: 30, max_retries: 5, priority: null, queue: 'elsewhere', unknown: 1 },
          on_failure: 'skip',
          on_success: 'continue',
          metadata: { team: 'money' },
          unknown: true,
        },
      ],
    });
    expect(await workflows.get(id)).toEqual({
      id,
      name: 'order',
      status: 'created',
      steps: [
        {
          name: 'reserve',
          task_name: 'reserve_stock',
          payload: { sku: 'a-1' },
          depends_on: [],
          config: {},
          on_failure: 'halt',
          on_success: 'continue',
          metadata: {},
          queue: null,
        },
        {
          name: 'charge',
          task_name: 'charge_card',
          payload: {},
          depends_on: ['reserve'],
          config: { max_retries: 5, timeout_secs: 30 },
          on_failure: 'skip',
          on_success: 'continue',
          metadata: { team: 'money' },
          queue: null,
        },
      ],
      context: { order: 7 },
      metadata: { by: 'shop' },
      created_at: INSTANT,
      started_at: null,
      completed_at: null,
      tenant_id: TENANT_A,
    });
  });

  it('takes null for absent everywhere', async () => {
    const nothing = {
      payload: null,
      depends_on: null,
      config: null,
      on_failure: null,
      on_success: null,
      metadata: null,
    };
    const id = await workflows.create({
      name: 'n',
      context: null,
      metadata: null,
      steps: [{ name: 'x', task_name: 't', ...nothing }],
    });
    expect(await workflows.get(id)).toMatchObject({
      context: {},
      metadata: {},
      steps: [{ payload: {}, depends_on: [], config: {}, on_failure: 'halt', on_success: 'continue', metadata: {} }],
    });
  });

  it('gives only the roots a job', async () => {
    const id = await workflows.create([step('r1'), step('mid', ['r1']), step('r2'), step('end', ['mid', 'r2'])]);
    const steps = await workflows.steps(id);
    expect(steps.map(({ name, status }) => [name, status])).toEqual([
      ['r1', 'pending'],
      ['mid', 'pending'],
      ['r2', 'pending'],
      ['end', 'pending'],
    ]);
    expect(steps.map((each) => each.job_id !== null)).toEqual([true, false, true, false]);
    expect(Object.keys(steps[0]!)).toEqual([
      'name',
      'status',
      'job_id',
      'started_at',
      'completed_at',
      'attempts',
      'error_message',
      'next_retry_at',
      'run',
      'earlier_job_ids',
      'skipped_by',
    ]);
  });

  it('runs every step on the default queue with its own task, configuration, payload and metadata', async () => {
    const id = await workflows.create([
      {
        name: 'one',
        task_name: 'special',
        payload: { n: 1 },
        metadata: { m: [1] },
        config: { queue: 'elsewhere', priority: 9, timeout_secs: 17, jitter_factor: 0 },
      },
      { ...step('two', ['one']), config: { queue: 'elsewhere', max_retries: 0 }, metadata: { m: 2 } },
    ]);
    const { job } = await remote.take(id, 'one');
    expect(job).toMatchObject({
      queue_name: 'the-default',
      task_name: 'special',
      payload: { n: 1, _context: {} },
      metadata: { m: [1] },
      workflow_id: id,
      workflow_step_id: 'one',
      idempotency_key: null,
    });
    expect(job.config).toEqual({
      priority: 9,
      max_retries: 3,
      timeout_secs: 17,
      retry_backoff: 'exponential',
      retry_delay_secs: 60,
      retry_max_delay_secs: 3600,
      jitter_factor: 0,
    });
    const again = await workflows.create([
      { name: 'one', task_name: 't', payload: { n: 1 } },
      { ...step('two', ['one']), config: { queue: 'elsewhere', max_retries: 0 }, metadata: { m: 2 } },
    ]);
    await remote.complete(again, 'one');
    const { job: second } = await remote.take(again, 'two');
    expect(second).toMatchObject({ queue_name: 'the-default', metadata: { m: 2 }, config: { max_retries: 0 } });
  });

  it('enqueues in the order of definition', async () => {
    const names = Array.from({ length: 50 }, (_, n) => `step ${49 - n}`);
    const id = await workflows.create(names.map((name) => step(name)));
    expect(await remote.held(id)).toEqual(names);
  });

  it('keeps what belongs to the caller to the letter', async () => {
    const payload = '{"z":1.0,"a":12345678901234567890,"é":"\\u00e9\\n","n":{"b":[1e2, 0.10]}}';
    const context = '{"big":9007199254740993, "tiny":1E-7}';
    const metadata = '{"of":"workflow","n":-0}';
    const own = '{"of":"step","n":3.000}';
    const text =
      `{"name":"raw","context":${context},"metadata":${metadata},` +
      `"steps":[{"name":"x","task_name":"t","payload":${payload},"metadata":${own}}]}`;
    const { body } = await a.post('/api/v1/workflows', text);
    const shown = (await a.get(`/api/v1/workflows/${body.workflow_id}`)).text;
    expect(shown).toContain(`"payload":${payload}`);
    expect(shown).toContain(`"context":${context}`);
    expect(shown).toContain(`"metadata":${metadata}`);
    expect(shown).toContain(`"metadata":${own}`);
    const job = (await a.get(`/api/v1/jobs/${await workflows.jobId(body.workflow_id, 'x')}`)).text;
    expect(job).toContain(`"payload":${payload.slice(0, -1)},"_context":${context}}`);
    expect(job).toContain(`"metadata":${own}`);
  });

  it('counts a dependency once, however often it is named', async () => {
    const id = await workflows.create([step('x'), step('y', ['x', 'x', 'x'])]);
    await remote.complete(id, 'x');
    expect(await remote.held(id)).toEqual(['y']);
    const { diagram } = (await a.get(`/api/v1/workflows/${id}/diagram`)).body;
    expect(diagram.split('-->')).toHaveLength(2);
  });

  it.each([
    'end',
    '__proto__',
    'constructor',
    '_context',
    ' leading and trailing ',
    'quo"te',
    "apo'strophe",
    'back\\slash',
    'comma,brace}{',
    'new\nline',
    '🚀 Ракета',
    'NULL',
    'x'.repeat(255),
    '🙂'.repeat(255),
  ])('takes %j for the name of a step', async (name) => {
    const id = await workflows.create([step('first'), step(name, ['first']), step('last', [name])]);
    await remote.complete(id, 'first', { a: 1 });
    await remote.complete(id, name, { b: 2 });
    const { job } = await remote.take(id, 'last');
    expect(Object.getOwnPropertyDescriptor(job.payload._context, name)?.value).toEqual({ b: 2 });
    expect(job.payload._context).toMatchObject({ a: 1, b: 2, first: { a: 1 } });
    expect((await workflows.steps(id)).map((each) => [each.name, each.status])).toEqual([
      ['first', 'completed'],
      [name, 'completed'],
      ['last', 'running'],
    ]);
  });
});

it('is described with everything else', async () => {
  const { paths, components } = (await server.nobody.get('/openapi.json')).body;
  const operations = Object.entries<object>(paths)
    .filter(([path]) => path.startsWith('/api/v1/workflows'))
    .flatMap(([path, methods]) => Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`));
  expect(operations.sort()).toEqual([
    'GET /api/v1/workflows',
    'GET /api/v1/workflows/{id}',
    'GET /api/v1/workflows/{id}/diagram',
    'GET /api/v1/workflows/{id}/events',
    'GET /api/v1/workflows/{id}/steps',
    'POST /api/v1/workflows',
    'POST /api/v1/workflows/{id}/cancel',
    'POST /api/v1/workflows/{id}/resume',
    'POST /api/v1/workflows/{id}/signals/{name}',
  ]);
  expect(components.schemas.OnFailure.enum).toEqual(['halt', 'skip', 'continue']);
});

describe('refused', () => {
  const valid = { name: 'w', steps: chain('x', 'y') };
  const withStep = (more: object): object => ({ name: 'w', steps: [step('x'), { ...step('y', ['x']), ...more }] });
  const withConfig = (config: unknown): object => withStep({ config });

  async function refused(body: unknown, path: string, message?: RegExp): Promise<void> {
    const before = await stored();
    const reply = await a.post('/api/v1/workflows', body);
    expect(reply.status, reply.text).toBe(400);
    expect(reply.body.code).toBe('invalid_request');
    expect(reply.body.details.map((detail: { path: string }) => detail.path)).toContain(path);
    if (message) expect(reply.body.error + JSON.stringify(reply.body.details)).toMatch(message);
    expect(await stored()).toEqual(before);
  }

  async function stored(): Promise<object> {
    const [counts] = await database.query(`
      SELECT (SELECT count(*) FROM millrace.workflows) AS workflows, (SELECT count(*) FROM millrace.workflow_runs) AS runs,
             (SELECT count(*) FROM millrace.jobs) AS jobs, (SELECT count(*) FROM millrace.ready) AS ready`);
    return counts!;
  }

  it.each([
    ['no steps', { name: 'w' }, 'steps', /required/],
    ['empty steps', { name: 'w', steps: [] }, 'steps', /at least 1/],
    ['null steps', { name: 'w', steps: null }, 'steps', /array/],
    ['steps that are no list', { name: 'w', steps: {} }, 'steps', /array/],
    ['no name', { steps: valid.steps }, 'name', /required/],
    ['a blank name', { ...valid, name: ' \n' }, 'name', /blank/],
    ['a long name', { ...valid, name: 'x'.repeat(256) }, 'name', /255/],
    ['NUL in the name', { ...valid, name: 'a\0b' }, 'name', /NUL/],
    ['a context that is no object', { ...valid, context: [] }, 'context', /object/],
    ['metadata that is no object', { ...valid, metadata: 'x' }, 'metadata', /object/],
    ['a step that is no object', { name: 'w', steps: ['x'] }, 'steps[0]', /object/],
    ['a step that is null', { name: 'w', steps: [null] }, 'steps[0]', /object/],
    ['a step without name', withStep({ name: undefined }), 'steps[1].name', /required/],
    ['a step with a blank name', withStep({ name: '' }), 'steps[1].name', /blank/],
    ['a step with a long name', withStep({ name: '🙂'.repeat(256) }), 'steps[1].name', /255/],
    ['NUL in the name of a step', withStep({ name: '\0' }), 'steps[1].name', /NUL/],
    ['half a character in the name of a step', withStep({ name: '\ud800' }), 'steps[1].name', /surrogate/],
    ['a step without task', withStep({ task_name: undefined }), 'steps[1].task_name', /required/],
    ['a step with a blank task', withStep({ task_name: ' ' }), 'steps[1].task_name', /blank/],
    ['a payload that is no object', withStep({ payload: [1] }), 'steps[1].payload', /object/],
    ['metadata of a step that is no object', withStep({ metadata: 3 }), 'steps[1].metadata', /object/],
    ['an unknown failure policy', withStep({ on_failure: 'retry' }), 'steps[1].on_failure', /halt, skip, continue/],
    ['an unknown success policy', withStep({ on_success: 'halt' }), 'steps[1].on_success', /continue/],
    ['a policy of another type', withStep({ on_failure: 1 }), 'steps[1].on_failure', /string/],
    ['dependencies that are no list', withStep({ depends_on: 'x' }), 'steps[1].depends_on', /array/],
    ['a dependency that is no name', withStep({ depends_on: ['x', 7] }), 'steps[1].depends_on[1]', /string/],
    ['a dependency longer than any name', withStep({ depends_on: ['x'.repeat(256)] }), 'steps[1].depends_on[0]', /255/],
    ['an unknown dependency', withStep({ depends_on: ['x', 'z'] }), 'steps[1].depends_on', /"y" depends on "z"/],
    [
      'a name of Object.prototype as dependency',
      withStep({ depends_on: ['toString'] }),
      'steps[1].depends_on',
      /not a/,
    ],
    ['a dependency on itself', withStep({ depends_on: ['y'] }), 'steps[1].depends_on', /"y" depends on itself/],
    ['a name twice', { name: 'w', steps: [step('x'), step('y'), step('x')] }, 'steps[2].name', /duplicate .*"x"/],
    ['too many retries', withConfig({ max_retries: 1001 }), 'steps[1].config.max_retries', /<= 1000/],
    ['negative retries', withConfig({ max_retries: -1 }), 'steps[1].config.max_retries', />= 0/],
    ['half a retry', withConfig({ max_retries: 1.5 }), 'steps[1].config.max_retries', /integer/],
    ['retries as text', withConfig({ max_retries: '3' }), 'steps[1].config.max_retries', /integer/],
    ['a long timeout', withConfig({ timeout: 86_401 }), 'steps[1].config.timeout', /86400/],
    ['no timeout at all', withConfig({ timeout_secs: 0 }), 'steps[1].config.timeout_secs', />= 1/],
    ['two timeouts', withConfig({ timeout: 5, timeout_secs: 6 }), 'steps[1].config.timeout_secs', /timeout/],
    ['a long delay', withConfig({ retry_delay_secs: 2_592_001 }), 'steps[1].config.retry_delay_secs', /2592000/],
    ['too much jitter', withConfig({ jitter_factor: 1.01 }), 'steps[1].config.jitter_factor', /<= 1/],
    ['an unknown backoff', withConfig({ retry_backoff: 'x' }), 'steps[1].config.retry_backoff', /fixed/],
    ['a priority beyond 32 bits', withConfig({ priority: 2 ** 31 }), 'steps[1].config.priority', /2147483647/],
    ['a configuration that is no object', withConfig([]), 'steps[1].config', /object/],
  ])('%s', async (_, body, path, message) => refused(body, path, message));

  it('a cycle, whose steps the message names', async () => {
    const steps = [step('in'), step('p', ['in', 'r']), step('q', ['p']), step('r', ['q']), step('out', ['r'])];
    await refused({ name: 'w', steps }, 'steps[1].depends_on', /cycle: .*"p" -> "q" -> "r"/);
    const { error } = (await a.post('/api/v1/workflows', { name: 'w', steps })).body;
    expect(error).not.toMatch(/"in"|"out"/);
  });

  it('more than a thousand steps, before each of them is looked at', async () => {
    const steps = Array.from({ length: 1001 }, () => ({ wrong: true }));
    await refused({ name: 'w', steps }, 'steps', /at most 1000/);
    const reply = await a.post('/api/v1/workflows', { name: 'w', steps });
    expect(reply.body.details).toHaveLength(1);
  });

  it('more than a thousand dependencies, before each of them is looked at', async () => {
    const depends_on = Array.from({ length: 1001 }, () => 7);
    await refused(withStep({ depends_on }), 'steps[1].depends_on', /at most 1000/);
  });

  it('more dependencies in all than a workflow may have, with the limit and the step that exceeds it', async () => {
    const layer = Array.from({ length: 150 }, (_, n) => `n${n}`);
    const steps = [...layer.map((name) => step(name)), ...layer.map((name) => step(`after ${name}`, layer))];
    const { status, body } = await a.post('/api/v1/workflows', { name: 'w', steps });
    expect(status).toBe(400);
    const message = `a workflow may have at most ${WORKFLOW_MAX_DEPENDENCIES} dependencies, all steps together`;
    const excess = 150 + Math.floor(WORKFLOW_MAX_DEPENDENCIES / 150);
    expect(body).toMatchObject({ error: message, details: [{ path: `steps[${excess}].depends_on`, message }] });
    const fitting = steps.slice(0, excess);
    expect((await a.post('/api/v1/workflows', { name: 'w', steps: fitting })).status).toBe(201);
  });

  it('a million wrong dependencies, with one word about the first', async () => {
    const depends_on = Array.from({ length: 1000 }, () => 7);
    const steps = Array.from({ length: 1000 }, (_, n) => ({ ...step(`s${n}`), depends_on }));
    const reply = await a.post('/api/v1/workflows', { name: 'w', steps });
    expect(reply.body.details).toEqual([{ path: 'steps[0].depends_on[0]', message: 'must be string' }]);
  });

  it('every configuration at its bound is accepted', async () => {
    const bounds = { max_retries: 1000, timeout: 86_400, retry_delay_secs: 2_592_000, retry_max_delay_secs: 0 };
    const id = await workflows.create([
      { ...step('x'), config: { ...bounds, jitter_factor: 1, priority: -(2 ** 31), retry_backoff: 'linear' } },
    ]);
    const { timeout, ...others } = bounds;
    expect((await workflows.get(id)).steps[0].config).toEqual({
      ...others,
      timeout_secs: timeout,
      jitter_factor: 1,
      priority: -(2 ** 31),
      retry_backoff: 'linear',
    });
  });

  it('a body that is no JSON object, and one that is no JSON', async () => {
    for (const body of ['[]', '"x"', 'null', '{']) {
      const reply = await a.send('POST', '/api/v1/workflows', { body });
      expect([body, reply.status, reply.body.code]).toEqual([body, 400, 'invalid_request']);
    }
    expect((await a.post('/api/v1/workflows')).status).toBe(400);
  });
});
