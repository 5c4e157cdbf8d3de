import { afterAll, describe, expect, it } from 'vitest';
import { cloneDatabase } from '../../support/database.js';
import { startTestServer } from '../../support/server.js';
import { complete, createJob, deadLettersOf, fail, getJob, lease, leaseOne, newQueue, report } from '../kit.js';
import { perform } from '../operations/operation-kit.js';
import { leaseNext } from '../waiting.js';
import { checkpointsOf, signal, store, suspend } from './kit.js';

/** Copies of jobs that begin where those had got to. */
const database = await cloneDatabase();
const server = await startTestServer({ database, config: { mode: 'api' } });
const { a, b, worker } = server;
afterAll(async () => {
  await server.stop();
  await database.drop();
});

/** A job that failed with these checkpoints, and its dead letter. */
async function failed(
  stored: Readonly<Record<string, unknown>>,
): Promise<{ id: string; letter: number; queue: string }> {
  const queue = newQueue();
  const id = await createJob(a, queue);
  const leased = await leaseOne(worker, queue);
  for (const [name, value] of Object.entries(stored))
    expect((await store(worker, leased, name, value)).status).toBe(201);
  await fail(worker, leased, { retryable: false });
  const [letter] = await deadLettersOf(a, id);
  return { id, letter: letter!.id, queue };
}
const copied = async (path: string, body?: object): Promise<string> => {
  const { status, body: answer, text } = await a.post(`/api/v1${path}`, body);
  expect(status, text).toBe(201);
  return answer.job_id;
};
const STORED = { charge: { id: 7 }, mail: null, count: 3 };

describe('a replay', () => {
  it('copies no checkpoints unless asked to', async () => {
    const { letter } = await failed(STORED);
    const copy = await copied(`/dlq/${letter}/replay`);
    expect(await checkpointsOf(a, copy)).toEqual({});
    expect((await getJob(a, copy)).metadata).not.toHaveProperty('kept_checkpoints');
  });

  it('copies all of them, which stand like those of its own', async () => {
    const { letter, queue } = await failed(STORED);
    const copy = await copied(`/dlq/${letter}/replay`, { keep_checkpoints: true });
    expect(await checkpointsOf(a, copy)).toEqual(STORED);
    const leased = await leaseOne(worker, queue);
    // So its worker knows that there is something to read at the first delivery.
    expect(leased.job).toMatchObject({ id: copy, delivery_count: 1, metadata: { kept_checkpoints: true } });
    const again = await store(worker, leased, 'charge', { id: 8 });
    expect([again.status, again.body.value]).toEqual([200, { id: 7 }]);
  });

  it('copies those that are named', async () => {
    const { letter } = await failed(STORED);
    const copy = await copied(`/dlq/${letter}/replay`, { keep_checkpoints: ['mail', 'nobody'] });
    expect(await checkpointsOf(a, copy)).toEqual({ mail: null });
  });

  it('counts what it copies against the bounds of the copy', async () => {
    const { letter, queue } = await failed(STORED);
    const copy = await copied(`/dlq/${letter}/replay`, { keep_checkpoints: true });
    await leaseOne(worker, queue);
    const [total] = await database.query('SELECT count FROM millrace.checkpoint_totals WHERE job_id = $1', [copy]);
    expect(total).toEqual({ count: 3 });
  });

  it('leaves out time-outs and failed children, which would only fail again', async () => {
    const [queue, nursery] = [newQueue(), newQueue()];
    const id = await createJob(a, queue);
    const leased = await leaseOne(worker, queue);
    await store(worker, leased, 'asked', { timed_out: true });
    await store(worker, leased, 'answered', { value: 1 });
    const child = (name: string) => ({ name, task_name: 't', config: { queue: nursery, max_retries: 0 } });
    const made = await report(worker, 'children', leased, { jobs: [child('good'), child('bad')] });
    expect(made.status, made.text).toBe(201);
    for (const each of await lease(worker, nursery, { max_jobs: 2 }))
      await (each.job.id === made.body.job_ids[1] ? fail(worker, each) : complete(worker, each, { fine: true }));
    let parent = leased;
    for (const name of ['good', 'bad']) {
      await suspend(worker, parent, { checkpoint: `call ${name}`, delay_secs: 600, wait: { children: [name] } });
      parent = await leaseNext(worker, queue);
    }
    expect(Object.keys(await checkpointsOf(a, id)).sort()).toEqual(['answered', 'asked', 'call bad', 'call good']);
    await fail(worker, parent, { retryable: false });
    const [letter] = await deadLettersOf(a, id);
    const copy = await copied(`/dlq/${letter!.id}/replay`, { keep_checkpoints: true });
    expect(Object.keys(await checkpointsOf(a, copy)).sort()).toEqual(['answered', 'call good']);
  });

  it('keeps what only looks like failed children', async () => {
    const value = { children: [{ name: 'c', job_id: '019bd0e5-7c58-7a5f-9c0e-2f9f6a0f8f10', status: 'failed' }] };
    const { letter } = await failed({ mine: value });
    const copy = await copied(`/dlq/${letter}/replay`, { keep_checkpoints: true });
    expect(await checkpointsOf(a, copy)).toEqual({ mine: value });
  });
});

describe('a rerun', () => {
  it('keeps the answers that the job got', async () => {
    const queue = newQueue();
    const id = await createJob(a, queue);
    await suspend(worker, await leaseOne(worker, queue), {
      ...{ checkpoint: 'approval', delay_secs: 600 },
      wait: { signal: { name: 'go', key: id } },
    });
    expect((await signal(a, { name: 'go', key: id, value: 'yes' })).body.delivered).toBe(true);
    await report(worker, 'complete', await leaseOne(worker, queue), { result: {} });
    const copy = await copied(`/jobs/${id}/rerun`, { keep_checkpoints: true });
    expect(await checkpointsOf(a, copy)).toEqual({ approval: { value: 'yes' } });
    const plain = await copied(`/jobs/${id}/rerun`);
    expect(await checkpointsOf(a, plain)).toEqual({});
    // A copy of the copy that keeps nothing says nothing of it, either.
    const third = await copied(`/jobs/${copy}/rerun`);
    expect((await getJob(a, third)).metadata).not.toHaveProperty('kept_checkpoints');
  });
});

describe('a bulk replay', () => {
  it.each([
    [true, (n: number) => ({ n })],
    [['other'], () => ({})],
    [undefined, () => ({})],
  ])('with keep_checkpoints %j copies that of each', async (keep_checkpoints, expected) => {
    const letters = [await failed({ n: 1 }), await failed({ n: 2 })];
    const ids = letters.map(({ letter }) => String(letter));
    await perform(a, { action: 'replay_dead_letters', ids, keep_checkpoints });
    for (const [index, { id }] of letters.entries()) {
      const [letter] = await deadLettersOf(a, id);
      expect(await checkpointsOf(a, letter!.replay_job_id!)).toEqual(expected(index + 1));
    }
  });

  it('is the only operation that takes it', async () => {
    const { status, body } = await a.post('/api/v1/operations', {
      ...{ action: 'cancel_jobs', filter: { queue: 'q' } },
      keep_checkpoints: true,
    });
    expect([status, body.details[0].path]).toEqual([400, 'keep_checkpoints']);
  });
});

describe('what is refused', () => {
  it.each<[unknown]>([['yes'], [[7]], [['']], [{}]])('keep_checkpoints %j', async (keep_checkpoints) => {
    const { letter } = await failed({});
    const { status, body } = await a.post(`/api/v1/dlq/${letter}/replay`, { keep_checkpoints });
    expect(status).toBe(400);
    expect(body.details[0].path).toMatch(/^keep_checkpoints/);
  });

  it('the checkpoints of somebody else', async () => {
    const { id, letter } = await failed(STORED);
    expect((await b.post(`/api/v1/dlq/${letter}/replay`, { keep_checkpoints: true })).status).toBe(403);
    expect((await b.post(`/api/v1/jobs/${id}/rerun`, { keep_checkpoints: true })).status).toBe(403);
  });
});
