import { afterAll, describe, expect, it } from 'vitest';
import { controlClock } from '../../support/clock.js';
import { cloneDatabase } from '../../support/database.js';
import { startTestServer } from '../../support/server.js';
import { until } from '../../support/until.js';
import { completeJob, workflowsOf, hand, ok, step } from './kit.js';

describe('a worker that never comes back', async () => {
  const database = await cloneDatabase();
  const clock = await controlClock(database);
  const server = await startTestServer({ config: { mode: 'api' }, database });
  afterAll(async () => {
    await server.stop();
    await database.drop();
  });
  const workflows = workflowsOf(server.a);
  const worker = hand(server.worker);
  const isOver = (id: string) => async () => (await workflows.status(id)) !== 'running' || 'still running';

  it('has its step given to another one, and the workflow goes on', async () => {
    const id = await workflows.create([step('b', [], { config: { retry_delay_secs: 0 } }), step('c', ['b'])]);
    const lost = await worker.take(id, 'b');
    await clock.advance(3_700);
    const again = await until(async () => (await worker.held(id)).includes('b') && worker.take(id, 'b'));
    expect(again.job).toMatchObject({ retry_count: 1, error_message: 'lease expired' });
    expect(await workflows.status(id)).toBe('running');
    expect((await completeJob(server.worker, lost.job.id, lost.lease_token, { from: 'lost' })).status).toBe(409);
    ok(await completeJob(server.worker, again.job.id, again.lease_token, { from: 'found' }));
    expect((await worker.take(id, 'c')).job.payload._context).toMatchObject({ from: 'found' });
    await workflows.cancel(id);
  });

  it.each([
    ['halt', 'failed', 'cancelled'],
    ['skip', 'partially_failed', 'skipped'],
  ])('under %s ends the workflow as %s when no attempt is left', async (on_failure, status, next) => {
    const id = await workflows.create([step('b', [], { on_failure, config: { max_retries: 0 } }), step('c', ['b'])]);
    await worker.take(id, 'b');
    await clock.advance(3_700);
    await until(isOver(id));
    expect(await workflows.status(id)).toBe(status);
    expect(await workflows.statuses(id)).toEqual({ b: 'failed', c: next });
    expect((await workflows.job(id, 'b')).error_message).toBe('lease expired');
  });

  it('under continue lets the next step run when no attempt is left', async () => {
    const id = await workflows.create([
      step('b', [], { on_failure: 'continue', config: { max_retries: 0 } }),
      step('c', ['b']),
    ]);
    await worker.take(id, 'b');
    await clock.advance(3_700);
    await until(async () => (await worker.held(id)).includes('c'));
    await worker.complete(id, 'c');
    expect(await workflows.status(id)).toBe('partially_failed');
  });
});
