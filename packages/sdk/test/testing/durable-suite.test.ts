import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { task } from '../../src/index.js';
import { fakeStage, lease, realStage, type Stage } from '../support/stages.js';

let names = 0;

/** What durable jobs store and wait for: the fake server does what the real one does. */
describe.each([
  ['the fake server', fakeStage],
  ['the real server', realStage],
] as const)('durable jobs on %s', (_name, start) => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await start();
  });
  afterAll(() => stage.stop());

  /** A job that a worker holds. */
  async function begin(): Promise<{ id: string; token: string; queue: string; key: string }> {
    const queue = `durable ${++names}`;
    const { id } = await stage.millrace.enqueue(task({ name: 'durable', queue }));
    return { id, queue, token: await deliver(queue), key: `key ${names}` };
  }

  async function deliver(queue: string): Promise<string> {
    const [leased] = await lease(stage, queue);
    expect(leased).toBeDefined();
    return leased!.lease_token;
  }

  it('keep the first value under a name', async () => {
    const { id, token } = await begin();
    const path = `/jobs/${id}/checkpoints`;
    const first = await stage.work(path, { lease_token: token, name: 'a', value: { n: 1 } });
    const second = await stage.work(path, { lease_token: token, name: 'a', value: 2 });
    expect([first.status, first.body]).toEqual([201, { name: 'a', value: { n: 1 } }]);
    expect([second.status, second.body]).toEqual([200, first.body]);
    expect((await stage.work(path, { lease_token: token, name: 'b', value: null })).status).toBe(201);
    expect((await stage.work(path, { lease_token: token, name: 'c' })).status).toBe(400);
    expect((await stage.work(path, { lease_token: token, name: '', value: 1 })).status).toBe(400);
    expect((await stage.work(path, { lease_token: id, name: 'c', value: 1 })).body.code).toBe('lease_lost');
    expect(await stage.millrace.jobs.checkpoints(id)).toMatchObject([
      { name: 'a', value: { n: 1 }, attempt: 1 },
      { name: 'b', value: null },
    ]);
  });

  it('sleep until their instant, and the first one stands', async () => {
    const { id, token, queue } = await begin();
    const asleep = await stage.work(`/jobs/${id}/suspend`, {
      lease_token: token,
      checkpoint: 'nap',
      delay_secs: 3_600,
    });
    expect(asleep.status).toBe(204);
    const job = await stage.millrace.jobs.get(id);
    expect(job).toMatchObject({ status: 'pending', deliveryCount: 1, waitingFor: { checkpoint: 'nap', signal: null } });
    expect(await lease(stage, queue)).toEqual([]);
    await stage.call('POST', `/jobs/${id}/run-now`);
    const again = await deliver(queue);
    await stage.work(`/jobs/${id}/suspend`, { lease_token: again, checkpoint: 'nap', delay_secs: 7_200 });
    // Its time was over when somebody let it run.
    expect(await deliver(queue)).toBeDefined();
    expect((await stage.millrace.jobs.get(id)).waitingFor).toBeNull();
  });

  it('take signals, whichever comes first', async () => {
    const { id, token, queue, key } = await begin();
    const wait = { checkpoint: 'paid', delay_secs: 3_600, wait: { signal: { name: 'paid', key } } };
    await stage.work('/reports', { reports: [{ job_id: id, lease_token: token, outcome: 'suspended', ...wait }] });
    expect(await stage.millrace.signals.waits({ key }).page()).toMatchObject({
      items: [{ jobId: id, task: 'durable', name: 'paid', key }],
    });
    expect((await stage.call('POST', `/jobs/${id}/run-now`)).body.code).toBe('conflict');
    expect(await stage.millrace.signals.send('paid', key, { cents: 1 })).toEqual({ delivered: true });
    await deliver(queue);
    expect(await stage.millrace.jobs.checkpoints(id)).toMatchObject([{ name: 'paid', value: { value: { cents: 1 } } }]);

    const late = await begin();
    expect(await stage.millrace.signals.sendToJob(late.id, 'go', 7)).toEqual({ delivered: false });
    const own = { checkpoint: 'go', delay_secs: 3_600, wait: { signal: { name: 'go' } } };
    await stage.work(`/jobs/${late.id}/suspend`, { lease_token: late.token, ...own });
    await deliver(late.queue);
    expect(await stage.millrace.jobs.checkpoints(late.id)).toMatchObject([{ name: 'go', value: { value: 7 } }]);
  });

  it('are refused what makes no sense', async () => {
    const { id, token } = await begin();
    const suspend = async (fields: object) =>
      (await stage.work(`/jobs/${id}/suspend`, { lease_token: token, ...fields })).status;
    expect(await suspend({ delay_secs: 1 })).toBe(400);
    expect(await suspend({ checkpoint: 'x' })).toBe(400);
    expect(await suspend({ checkpoint: 'x', delay_secs: 1, until: '2030-01-01T00:00:00Z' })).toBe(400);
    expect(await suspend({ checkpoint: 'x', delay_secs: 1, wait: {} })).toBe(400);
    expect((await stage.call('POST', '/signals', { name: 'x' })).status).toBe(400);
    expect((await stage.call('POST', '/signals', { name: 'x', key: 'y', ttl_secs: 0 })).status).toBe(400);
    await stage.call('POST', `/jobs/${id}/cancel`);
    expect(await suspend({ checkpoint: 'x', delay_secs: 1 })).toBe(204);
    expect((await stage.call('POST', `/jobs/${id}/signals/go`)).body.code).toBe('already_finished');
  });
});
