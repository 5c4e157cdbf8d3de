import { describe, expect, it } from 'vitest';
import { useTestServer } from '../../support/server.js';
import { chain, hand, workflowsOf } from '../workflows/kit.js';
import { perform, post } from './operation-kit.js';

const { a, b, worker } = await useTestServer({ config: { mode: 'api' } });
const workflows = workflowsOf(a);
const remote = hand(worker);

async function failed(name: string): Promise<string> {
  const id = await workflows.create({ name, steps: chain('x', 'y') });
  await remote.complete(id, 'x', { n: 1 });
  await remote.fail(id, 'y');
  return id;
}

async function cancelled(name: string): Promise<string> {
  const id = await workflows.create({ name, steps: chain('x', 'y') });
  await workflows.cancel(id);
  return id;
}

describe('resuming workflows in bulk', () => {
  it('resumes those of a name that failed, and leaves cancelled ones and others alone', async () => {
    const ids = await Promise.all(Array.from({ length: 12 }, () => failed('order')));
    const others = [await failed('other'), await cancelled('order')];
    const running = await workflows.create({ name: 'order', steps: chain('x') });
    const preview = await post(a, { action: 'resume_workflows', filter: { name: 'order' }, dry_run: true });
    expect(preview.body).toMatchObject({ matched: { n: 12, exact: true } });
    expect(preview.body.sample[0]).toEqual({
      ...{ id: expect.any(String), name: 'order', created_at: expect.any(String) },
    });
    const operation = await perform(a, { action: 'resume_workflows', filter: { name: 'order' } });
    expect(operation).toMatchObject({
      ...{ action: 'resume_workflows', status: 'completed', matched: { n: 12, exact: true }, changed: 12, skipped: 0 },
      outcome: { completed: 0, failed: 0, unfinished: 0 },
    });
    for (const id of ids) expect(await workflows.statuses(id)).toEqual({ x: 'completed', y: 'pending' });
    expect(await Promise.all(others.map((id) => workflows.status(id)))).toEqual(['failed', 'cancelled']);
    expect((await workflows.steps(running))[0]).toMatchObject({ run: 1 });
  });

  it('resumes those in a state that is named', async () => {
    const id = await cancelled('called off');
    const operation = await perform(a, {
      action: 'resume_workflows',
      filter: { status: 'cancelled', name: 'called off' },
    });
    expect(operation.changed).toBe(1);
    expect(await workflows.status(id)).toBe('created');
  });

  it('resumes those with given ids, and skips what cannot be resumed or is not the tenant’s', async () => {
    const [id, running] = [await failed('by id'), await workflows.create(chain('x'))];
    const foreign = await workflowsOf(b).create(chain('x'));
    const operation = await perform(a, { action: 'resume_workflows', ids: [id, running, foreign] });
    expect(operation).toMatchObject({ matched: { n: 2 }, changed: 1, skipped: 1 });
    expect(await workflows.status(id)).toBe('running');
  });

  it('refuses filters of other lists, states that there are not, and ids that are none', async () => {
    for (const filter of [{ queue: 'q' }, { status: 'pending' }, {}]) {
      expect((await post(a, { action: 'resume_workflows', filter })).status, JSON.stringify(filter)).toBe(400);
    }
    expect((await post(a, { action: 'cancel_jobs', filter: { name: 'order' } })).status).toBe(400);
    expect((await post(a, { action: 'resume_workflows', ids: ['7'] })).body.details[0].path).toBe('ids[0]');
  });
});
