import { WAITS_QUEUE, WORKFLOW_MAX_WAITS } from '@millrace/contract';
import { afterAll, describe, expect, it } from 'vitest';
import { Waits } from '../../../src/engine/durable/waits.js';
import { Database } from '../../../src/store/connection/database.js';
import { createLogger } from '../../../src/telemetry/logger.js';
import { controlClock } from '../../support/clock.js';
import { createClient } from '../../support/client.js';
import { cloneDatabase } from '../../support/database.js';
import { connectionOf } from '../../support/pooled.js';
import { KEY_A, startTestServer, TENANT_A } from '../../support/server.js';
import { until } from '../../support/until.js';
import { violationsIn } from '../../support/violations.js';
import { startAnotherServer } from '../another-server.js';
import { SWEEP_OFTEN } from '../kit.js';
import { hand, ok, step, workflowsOf } from './kit.js';

/** Steps that wait for signals, in two processes on one database whose clock moves when it is told to. */
const database = await cloneDatabase();
const clock = await controlClock(database);
await clock.freeze();
const server = await startTestServer({ database, config: { mode: 'api' }, intervals: SWEEP_OFTEN });
const other = await startAnotherServer(database, { mode: 'api' }, {}, SWEEP_OFTEN);
const { a, b, worker } = server;
const a2 = createClient(other.apiUrl!, KEY_A);
afterAll(async () => {
  await other.stop();
  await server.stop();
  await database.drop();
});
const workflows = workflowsOf(a);
const remote = hand(worker);
const silent = createLogger({ level: 'silent', format: 'json' });

const waiting = (name: string, dependsOn: readonly string[] = [], wait: object = {}, more: object = {}): object => ({
  ...{ name, depends_on: dependsOn, ...more },
  wait: { signal: name, timeout_secs: 3_600, ...wait },
});
const signal = (id: string, name: string, body?: object, client = a) =>
  client.post(`/api/v1/workflows/${id}/signals/${name}`, body);
const ended = (id: string): Promise<any> =>
  until(async () => {
    const workflow = await workflows.get(id);
    return workflow.completed_at === null ? `it is ${workflow.status}` : workflow;
  });
const untilHeld = (id: string, ...names: string[]): Promise<unknown> =>
  until(async () => {
    const held = await remote.held(id);
    return names.every((name) => held.includes(name)) || `held: ${held.join()}`;
  });
const listed = async (query = ''): Promise<any[]> => (await a.get(`/api/v1/waits?limit=100${query}`)).body.waits;

describe('a step that waits', () => {
  it('runs until the signal comes, whose value is its result', async () => {
    const id = await workflows.create([step('a'), waiting('approved', ['a']), step('b', ['approved'])]);
    await remote.complete(id, 'a');
    const [, shown] = (await workflows.steps(id)) as any[];
    expect(shown).toMatchObject({ name: 'approved', status: 'running' });
    expect((await a.get(`/api/v1/jobs/${shown.job_id}`)).body).toMatchObject({
      ...{ status: 'pending', queue_name: WAITS_QUEUE },
      waiting_for: { signal: 'approved', key: id },
    });
    expect((await a.get(`/api/v1/jobs/${shown.job_id}/why`)).body.reason).toBe('waiting_for_signal');
    expect((await signal(id, 'approved', { value: { by: 'me' } }, a2)).body).toEqual({ delivered: true });
    await untilHeld(id, 'b');
    const { job } = await remote.take(id, 'b');
    expect(job.payload._context).toMatchObject({ by: 'me', approved: { by: 'me' } });
    expect(await workflows.statuses(id)).toMatchObject({ approved: 'completed' });
  });

  it('takes a signal that was there before it', async () => {
    const id = await workflows.create([step('a'), waiting('approved', ['a'])]);
    expect((await signal(id, 'approved', { value: 7 })).body).toEqual({ delivered: false });
    await remote.complete(id, 'a');
    expect((await ended(id)).context).toMatchObject({ approved: { value: 7 } });
  });

  it('may be the first step, name a key of its own, and get no value', async () => {
    const key = `order-${Math.random()}`;
    const id = await workflows.create([waiting('paid', [], { key })]);
    expect(await workflows.status(id)).toBe('running');
    ok(await a.post('/api/v1/signals', { name: 'paid', key }));
    expect(await ended(id)).toMatchObject({ status: 'completed', context: { paid: { value: null } } });
  });

  it('fails at its deadline, and its policy applies', async () => {
    const halts = await workflows.create([waiting('approved', [], { timeout_secs: 60 }), step('b', ['approved'])]);
    const skips = await workflows.create([
      waiting('approved', [], { timeout_secs: 60 }, { on_failure: 'skip' }),
      step('b', ['approved']),
    ]);
    await clock.advance(59);
    expect([await workflows.status(halts), await workflows.status(skips)]).toEqual(['running', 'running']);
    await clock.advance(2);
    expect(await ended(halts)).toMatchObject({ status: 'failed' });
    expect(await ended(skips)).toMatchObject({ status: 'partially_failed' });
    const job = await workflows.job(halts, 'approved');
    expect(job).toMatchObject({ status: 'failed', error_message: 'no signal "approved" came within 60 s' });
    const letters = await database.query('SELECT reason FROM millrace.dead_letters WHERE job_id = $1', [job.id]);
    expect(letters).toEqual([{ reason: 'non_retryable' }]);
    expect((await signal(halts, 'approved')).status).toBe(409);
  });

  it('goes on at its deadline if it is told to', async () => {
    const id = await workflows.create([
      waiting('approved', [], { timeout_secs: 60, on_timeout: 'continue' }),
      { ...step('b', ['approved']), when: { ref: { $step: 'approved', path: ['timed_out'] }, is: true } },
    ]);
    await clock.advance(61);
    await untilHeld(id, 'b');
    await remote.complete(id, 'b');
    expect((await ended(id)).context).toMatchObject({ approved: { timed_out: true } });
  });

  it('is listed with its question while it waits', async () => {
    const ask = { text: 'Ship it?', choices: [{ label: 'Yes', value: { ship: true } }] };
    const id = await workflows.create([waiting('ship', [], { ask })]);
    const mine = async (): Promise<any[]> => (await listed('&name=ship&ask=true')).filter(({ key }) => key === id);
    expect(await mine()).toMatchObject([{ name: 'ship', key: id, ask }]);
    await signal(id, 'ship', { value: { ship: true } });
    await ended(id);
    expect(await mine()).toEqual([]);
  });

  it('is one of many that each take a signal of their own', async () => {
    const names = ['w1', 'w2', 'w3'];
    const id = await workflows.create(names.map((name) => waiting(name, [], { signal: 'go' })));
    for (const n of [1, 2]) expect((await signal(id, 'go', { value: { n } })).body).toEqual({ delivered: true });
    const done = async (): Promise<number> =>
      Object.values(await workflows.statuses(id)).filter((status) => status === 'completed').length;
    await until(async () => (await done()) === 2);
    await signal(id, 'go', { value: { n: 3 } });
    const { context } = await ended(id);
    expect(names.map((name) => context[name].n).sort()).toEqual([1, 2, 3]);
  });

  it('ends with its workflow, and so do signals that nobody took', async () => {
    const id = await workflows.create([waiting('approved')]);
    await signal(id, 'something-else', { value: 1 });
    await workflows.cancel(id);
    expect(await workflows.statuses(id)).toEqual({ approved: 'cancelled' });
    expect((await signal(id, 'approved')).body.code).toBe('already_finished');
    const running = await workflows.create([waiting('approved')]);
    await signal(running, 'something-else', { value: 1 });
    const stored = (workflow: string): Promise<unknown[]> =>
      database.query('SELECT FROM millrace.signals WHERE workflow_id = $1', [workflow]);
    // What a process does every few minutes.
    const db = new Database({ ...connectionOf(database.homeOf(TENANT_A).url), maxConnections: 1, logger: silent });
    await new Waits(db, { untaken: () => undefined }).forget();
    await db.close();
    expect([(await stored(id)).length, (await stored(running)).length]).toEqual([0, 1]);
  });

  it('waits anew after a resume', async () => {
    const id = await workflows.create([waiting('approved', [], { timeout_secs: 60 }), step('b', ['approved'])]);
    await clock.advance(61);
    await ended(id);
    ok(await a.post(`/api/v1/workflows/${id}/resume`, {}));
    expect(await workflows.statuses(id)).toMatchObject({ approved: 'running', b: 'pending' });
    expect((await signal(id, 'approved', { value: { yes: 1 } }, a2)).body).toEqual({ delivered: true });
    await untilHeld(id, 'b');
    await remote.complete(id, 'b');
    expect(await ended(id)).toMatchObject({ status: 'completed', context: { approved: { yes: 1 } } });
  });

  it('is told under a key once', async () => {
    const id = await workflows.create([waiting('approved')]);
    const headers = { 'idempotency-key': `signal ${id}` };
    const path = `/api/v1/workflows/${id}/signals/approved`;
    const first = await a.send('POST', path, { headers, body: { value: 1 } });
    const second = await a2.send('POST', path, { headers, body: { value: 1 } });
    expect([first.status, second.status]).toEqual([202, 202]);
    expect(second.headers.get('idempotency-replayed')).toBe('true');
    expect(second.body).toEqual(first.body);
    await ended(id);
  });

  it('is ended once, whichever process hears of it', async () => {
    const id = await workflows.create([waiting('approved')]);
    const job = await workflows.jobId(id, 'approved');
    await signal(id, 'approved', { value: 1 });
    await ended(id);
    expect((await a.get(`/api/v1/jobs/${job}/attempts`)).body.attempts).toHaveLength(1);
    expect(await violationsIn(database)).toEqual([]);
  });
});

describe('nobody else', () => {
  it('signals a workflow, or learns of it', async () => {
    const id = await workflows.create([waiting('approved')]);
    expect((await signal(id, 'approved', {}, b)).status).toBe(403);
    expect((await signal('019bd0e5-7c58-7a5f-9c0e-2f9f6a0f8f10', 'approved')).status).toBe(404);
    expect((await signal(id, 'approved', {}, worker)).status).toBe(401);
    expect((await b.get('/api/v1/waits')).body.waits).toEqual([]);
    await workflows.cancel(id);
  });

  it('creates jobs on the reserved queue, leases from it or has its jobs run otherwise', async () => {
    const create = await a.post('/api/v1/jobs', { task_name: 't', config: { queue: WAITS_QUEUE } });
    expect([create.status, create.body.details[0].path]).toEqual([400, 'config.queue']);
    const leased = await worker.post(`/api/v1/queues/${encodeURIComponent(WAITS_QUEUE)}/lease`, {});
    expect(leased.status).toBe(400);
    const id = await workflows.create([waiting('approved')]);
    const job = await workflows.jobId(id, 'approved');
    expect((await a.post(`/api/v1/jobs/${job}/run-now`)).status).toBe(409);
    await workflows.cancel(id);
    expect((await a.post(`/api/v1/jobs/${job}/rerun`)).status).toBe(409);
  });
});

describe('a wait is refused', () => {
  it.each<[object, string]>([
    [{ task_name: 't', wait: { signal: 's', timeout_secs: 1 } }, 'steps[0].task_name'],
    [{ config: { priority: 1 }, wait: { signal: 's', timeout_secs: 1 } }, 'steps[0].config'],
    [{ wait: { signal: 's' } }, 'steps[0].wait.timeout_secs'],
    [{ wait: { signal: 's', timeout_secs: 0 } }, 'steps[0].wait.timeout_secs'],
    [{ wait: { signal: '', timeout_secs: 1 } }, 'steps[0].wait.signal'],
    [{ wait: { signal: 's', timeout_secs: 1, on_timeout: 'wait' } }, 'steps[0].wait.on_timeout'],
    [{ task_name: 't', queue: WAITS_QUEUE }, 'steps[0].queue'],
    [{}, 'steps[0].task_name'],
  ])('%j', async (fields, path) => {
    const { status, body } = await a.post('/api/v1/workflows', { name: 'refused', steps: [{ name: 'w', ...fields }] });
    expect([status, body.details[0].path]).toEqual([400, path]);
  });

  it('if there are too many, or if its question is too long', async () => {
    const steps = Array.from({ length: WORKFLOW_MAX_WAITS + 1 }, (_, n) => waiting(`w${n}`));
    const many = await a.post('/api/v1/workflows', { name: 'refused', steps });
    expect([many.status, many.body.details[0].path]).toEqual([400, `steps[${WORKFLOW_MAX_WAITS}].wait`]);
    const long = waiting('w', [], { ask: { text: 'x'.repeat(16_400) } });
    expect((await a.post('/api/v1/workflows', { name: 'refused', steps: [long] })).status).toBeGreaterThanOrEqual(400);
  });
});
