import { describe, expect, it } from 'vitest';
import { useTestServer } from '../../support/server.js';
import { hand, ok, step, workflowsOf } from './kit.js';

/** What clients knew before workflows could be resumed, wait and decide: all of it is there, and means the same. */
const WORKFLOW = [
  ...['id', 'name', 'status', 'steps', 'context', 'metadata', 'created_at', 'started_at', 'completed_at'],
  'tenant_id',
];
const DEFINED = [
  ...['name', 'task_name', 'payload', 'depends_on', 'config', 'on_failure', 'on_success', 'metadata', 'queue'],
];
const STEP = ['name', 'status', 'job_id', 'started_at', 'completed_at', 'attempts', 'error_message'];

describe('a client that knows nothing of resumes, waits and conditions', async () => {
  const { a, worker } = await useTestServer({ config: { mode: 'api' } });
  const workflows = workflowsOf(a);
  const remote = hand(worker);
  const only = (record: object, fields: readonly string[]): object =>
    Object.fromEntries(Object.entries(record).filter(([field]) => fields.includes(field)));
  const fresh = (record: object, fields: readonly string[]): object =>
    Object.fromEntries(Object.entries(record).filter(([field]) => !fields.includes(field)));

  it('finds what it knew, and beside it only fields that say nothing', async () => {
    const id = await workflows.create([step('a'), step('b', ['a'])]);
    await remote.complete(id, 'a', { n: 1 });
    const workflow = await workflows.get(id);
    expect(Object.keys(only(workflow, WORKFLOW)).sort()).toEqual([...WORKFLOW].sort());
    expect(fresh(workflow, WORKFLOW)).toEqual({});
    for (const defined of workflow.steps) {
      expect(Object.keys(only(defined, DEFINED)).sort()).toEqual([...DEFINED].sort());
      expect(fresh(defined, DEFINED)).toEqual({});
    }
    for (const shown of await workflows.steps(id)) {
      expect(Object.keys(only(shown, STEP)).sort()).toEqual([...STEP].sort());
      expect(fresh(shown, STEP)).toEqual({ run: 1, earlier_job_ids: [], skipped_by: null, next_retry_at: null });
    }
  });

  it('sees a resumed workflow as one that goes on', async () => {
    const id = await workflows.create([step('a'), step('b', ['a'])]);
    await remote.complete(id, 'a', { n: 1 });
    await remote.fail(id, 'b');
    const failed = await workflows.get(id);
    ok(await a.post(`/api/v1/workflows/${id}/resume`, {}));
    const steps = (await workflows.steps(id)).map((shown) => only(shown, STEP));
    expect(steps).toMatchObject([
      { name: 'a', status: 'completed', attempts: 1, error_message: null },
      { name: 'b', status: 'pending', attempts: 0, error_message: null, started_at: null, completed_at: null },
    ]);
    const { completed_at: _, status: __, ...same } = only(failed, WORKFLOW) as Record<string, unknown>;
    expect(only(await workflows.get(id), WORKFLOW)).toEqual({ ...same, status: 'running', completed_at: null });
  });
});
