import { describe, expect, it } from 'vitest';
import { pipeline, type PipelinedRequest } from '../pipeline.js';
import { useTestServer, WORKER_TOKEN } from '../../support/server.js';
import { chain, completeJob, workflowsOf, hand, ok, step } from './kit.js';

/** What steps learn of those before them. */
const { a, worker, url } = await useTestServer({ config: { mode: 'api' } });
const workflows = workflowsOf(a);
const remote = hand(worker);

const contextOf = async (id: string, name: string): Promise<any> => (await remote.take(id, name)).job.payload._context;

describe('the context', () => {
  it('stands beside the payload of every step, even where it is empty', async () => {
    const id = await workflows.create([
      { ...step('x'), payload: { own: 1 } },
      { ...step('y', ['x']), payload: { own: 2, deep: [{}] } },
    ]);
    const { job, lease_token: token } = await remote.take(id, 'x');
    expect(job.payload).toEqual({ own: 1, _context: {} });
    ok(await completeJob(worker, job.id, token));
    expect((await remote.take(id, 'y')).job.payload).toEqual({ own: 2, deep: [{}], _context: { x: {} } });
  });

  it('begins with what the workflow was created with', async () => {
    const id = await workflows.create({ name: 'w', context: { order: 7, x: 'old' }, steps: chain('x', 'y') });
    const { job, lease_token: token } = await remote.take(id, 'x');
    expect(job.payload._context).toEqual({ order: 7, x: 'old' });
    ok(await completeJob(worker, job.id, token, { order: 8 }));
    expect(await contextOf(id, 'y')).toEqual({ order: 8, x: { order: 8 } });
  });

  it("replaces a key of that name in the caller's payload", async () => {
    const id = await workflows.create([{ ...step('x'), payload: { _context: 'workflows', keep: 1 } }]);
    expect((await remote.take(id, 'x')).job.payload).toEqual({ keep: 1, _context: {} });
    expect((await workflows.get(id)).steps[0].payload).toEqual({ _context: 'workflows', keep: 1 });
  });

  it('lets later completions win, and names of steps over keys', async () => {
    const id = await workflows.create([step('x'), step('y'), step('z'), step('join', ['x', 'y', 'z'])]);
    await remote.complete(id, 'x', { shared: 'x', z: 'a key', only_x: 1 });
    await remote.complete(id, 'z', { shared: 'z' });
    await remote.complete(id, 'y', { shared: 'y', x: 'a key', z: 'a key', join: 'a key' });
    const expected = {
      shared: 'y',
      only_x: 1,
      x: { shared: 'x', z: 'a key', only_x: 1 },
      y: { shared: 'y', x: 'a key', z: 'a key', join: 'a key' },
      z: { shared: 'z' },
      join: 'a key',
    };
    expect(await contextOf(id, 'join')).toEqual(expected);
    expect((await workflows.get(id)).context).toEqual(expected);
  });

  it('keeps the name of a step that completed before against a key that comes later', async () => {
    const id = await workflows.create(chain('x', 'y', 'z'));
    await remote.complete(id, 'x', { v: 1 });
    await remote.complete(id, 'y', { x: 'a key', v: 2 });
    expect(await contextOf(id, 'z')).toEqual({ v: 2, x: { v: 1 }, y: { x: 'a key', v: 2 } });
  });

  it('never takes _context from a result, and the result of the job keeps it', async () => {
    const id = await workflows.create(chain('x', 'y'));
    await remote.complete(id, 'x', { v: 1, _context: { forged: true } });
    expect(await contextOf(id, 'y')).toEqual({ v: 1, x: { v: 1 } });
    expect((await workflows.job(id, 'x')).result).toEqual({ v: 1, _context: { forged: true } });
  });

  it('passes numbers, escapes and order on to the letter', async () => {
    const result =
      '{"z":12345678901234567890,"a":1.10,"e":1E400,"s":"\\u00e9\\/","_context":{"no":1}, "nested":{"n":0.10}}';
    const kept = '"z":12345678901234567890,"a":1.10,"e":1E400,"s":"\\u00e9\\/","nested":{"n":0.10}';
    const id = await workflows.create({
      name: 'w',
      steps: [step('x'), { ...step('y', ['x']), payload: { first: 1 } }],
    });
    await remote.complete(id, 'x', result);
    const text = (await a.get(`/api/v1/jobs/${await workflows.jobId(id, 'y')}`)).text;
    expect(text).toContain(`"payload":{"first":1,"_context":{${kept},"x":{${kept}}}}`);
    expect((await a.get(`/api/v1/workflows/${id}`)).text).toContain(`"context":{${kept},"x":{${kept}}}`);
    expect((await a.get(`/api/v1/jobs/${await workflows.jobId(id, 'x')}`)).text).toContain(`"result":${result}`);
  });

  it('is what a look at the workflow shows, while nothing has used it and after the end', async () => {
    const id = await workflows.create([step('x'), step('y'), step('z', ['x', 'y'])]);
    await remote.complete(id, 'x', { n: 1 });
    expect((await workflows.get(id)).context).toEqual({ n: 1, x: { n: 1 } });
    await remote.complete(id, 'y', { n: 2 });
    await remote.complete(id, 'z', { n: 3 });
    expect(await workflows.get(id)).toMatchObject({
      status: 'completed',
      context: { n: 3, x: { n: 1 }, y: { n: 2 }, z: { n: 3 } },
    });
  });

  it('has what completed before a workflow was stopped', async () => {
    const halted = await workflows.create([step('x'), step('y')]);
    await remote.complete(halted, 'x', { n: 1 });
    await remote.fail(halted, 'y');
    const cancelled = await workflows.create([step('x'), step('y')]);
    await remote.complete(cancelled, 'x', { n: 1 });
    await workflows.cancel(cancelled);
    for (const id of [halted, cancelled]) expect((await workflows.get(id)).context).toEqual({ n: 1, x: { n: 1 } });
  });

  it('takes the result that the job took, of several that are reported at the same moment', async () => {
    const ids = await Promise.all(Array.from({ length: 20 }, () => workflows.create(chain('x', 'y'))));
    const leased = await Promise.all(ids.map((id) => remote.take(id, 'x')));
    const reports = leased.flatMap(({ job, lease_token }, i) => {
      const report = (what: string, fields: object): PipelinedRequest => ({
        path: `/api/v1/jobs/${job.id}/${what}`,
        token: WORKER_TOKEN,
        body: { lease_token, ...fields },
      });
      const failure = report('fail', { error: 'no', retryable: false });
      const completions = [1, 2, 3].map((n) => report('complete', { result: { report: n } }));
      return i % 2 ? [failure, ...completions] : [...completions, failure];
    });
    for (const { status } of await pipeline(url, reports)) expect(status).toBe(204);
    for (const [n, id] of ids.entries()) {
      const { status, result } = await workflows.job(id, 'x');
      expect(await workflows.statuses(id)).toMatchObject({ x: status });
      expect((await workflows.get(id)).context).toEqual(status === 'completed' ? { ...result, x: result } : {});
      if (status !== 'completed') continue;
      expect(await contextOf(id, 'y')).toEqual({ ...result, x: result });
      const { job, lease_token: token } = leased[n]!;
      expect((await completeJob(worker, job.id, token, { report: 'late' })).status).toBe(204);
      expect((await workflows.get(id)).context).toEqual({ ...result, x: result });
    }
  });

  it('does not grow by itself along a chain of steps that hand back what they got', async () => {
    const names = Array.from({ length: 40 }, (_, n) => `step${n}`);
    const id = await workflows.create(chain(...names));
    for (const name of names) {
      const { job, lease_token: token } = await remote.take(id, name);
      ok(await completeJob(worker, job.id, token, { ...job.payload, name }));
    }
    expect(await workflows.status(id)).toBe('completed');
    expect(JSON.stringify((await workflows.get(id)).context).length).toBeLessThan(4_000);
  });
});
