import { describe, expect, it } from 'vitest';
import { useTestServer } from '../../support/server.js';
import { hand, step, workflowsOf } from './kit.js';

/**
 * A program that does not know the rules of a workflow cannot advance it: whatever it writes is refused by the
 * database. Here such a program is what writes without saying which rules it knows.
 */
const { a, worker, database } = await useTestServer({ config: { mode: 'api' } });
const workflows = workflowsOf(a);
const remote = hand(worker);

const REFUSED = /goes by rules that this program does not know/;
const advance = (id: string): Promise<unknown> =>
  database.query(`UPDATE millrace.workflow_runs SET state = replace(state, 'q', 'c') WHERE id = $1`, [id]);
const end = (id: string): Promise<unknown> =>
  database.query('DELETE FROM millrace.workflow_runs WHERE id = $1 RETURNING id', [id]);
/** In one statement, since each is a transaction of its own here. */
const knowing = (rules: number, id: string): Promise<unknown[]> =>
  database.query(
    `WITH said AS MATERIALIZED (SELECT set_config('millrace.rules', '${rules}', true))
     UPDATE millrace.workflow_runs SET state = state WHERE id = $1 AND EXISTS (SELECT FROM said) RETURNING id`,
    [id],
  );
const rulesOf = (id: string): Promise<unknown[]> =>
  database.query('SELECT rules FROM millrace.workflow_runs WHERE id = $1', [id]);

const when = { when: { ref: { $step: 'a', path: ['go'] }, is: true } };

describe('a workflow with rules', () => {
  it.each([
    ['a condition', [step('a'), step('b', ['a'], when)]],
    ['a wait', [step('a'), { name: 'w', depends_on: ['a'], wait: { signal: 's', timeout_secs: 60 } }]],
  ])('is not advanced or ended by a program that does not know them: %s', async (_, steps) => {
    const id = await workflows.create(steps);
    expect(await rulesOf(id)).toEqual([{ rules: 1 }]);
    await expect(advance(id)).rejects.toThrow(REFUSED);
    await expect(end(id)).rejects.toThrow(REFUSED);
    expect(await knowing(1, id)).toEqual([{ id }]);
    expect(await workflows.statuses(id)).toMatchObject({ a: 'pending' });
    await remote.complete(id, 'a', { go: true });
    await workflows.cancel(id);
    expect(await workflows.status(id)).toBe('cancelled');
  });

  it('keeps its rules when it has ended and is resumed', async () => {
    const id = await workflows.create([step('a'), step('b', ['a'], when)]);
    await workflows.cancel(id);
    expect(await database.query('SELECT rules FROM millrace.workflow_ends WHERE id = $1', [id])).toEqual([
      { rules: 1 },
    ]);
    expect((await a.post(`/api/v1/workflows/${id}/resume`, {})).status).toBe(202);
    expect(await rulesOf(id)).toEqual([{ rules: 1 }]);
    await expect(advance(id)).rejects.toThrow(REFUSED);
    await remote.complete(id, 'a', { go: false });
    expect(await workflows.status(id)).toBe('completed');
  });

  it('is looked for in definitions of any content', async () => {
    const steps = '[{"name":"a","task_name":"t","queue":"none","payload":{"s":"\\u0000 \\ud800 \\\\u0000"}}]';
    const created = await a.post('/api/v1/workflows', `{"name":"w","steps":${steps}}`);
    const { workflow_id: id } = created.body;
    expect((await a.post(`/api/v1/workflows/${id}/cancel`)).status).toBe(204);
    expect((await a.post(`/api/v1/workflows/${id}/resume`, {})).status).toBe(202);
  });

  it('is not resumed by a program that does not know them', async () => {
    const resumed = `
      WITH gone AS (DELETE FROM millrace.workflow_ends WHERE id = $1 RETURNING *)
      INSERT INTO millrace.workflow_runs (started_at, status, id, tenant, state, version, context_bytes, resumes)
      SELECT started_at, 'running', id, tenant, state, 0, 2, 1 FROM gone RETURNING id`;
    const id = await workflows.create([step('a'), step('b', ['a'], when)]);
    await workflows.cancel(id);
    await expect(database.query(resumed, [id])).rejects.toThrow(REFUSED);
    expect(await workflows.status(id)).toBe('cancelled');
    const plain = await workflows.create([step('a')]);
    await workflows.cancel(plain);
    expect(await database.query(resumed, [plain])).toEqual([{ id: plain }]);
  });

  it('is begun by any program: that it has started is no matter of rules', async () => {
    const id = await workflows.create([step('a'), step('b', ['a'], when)]);
    await database.query(`UPDATE millrace.workflow_runs SET status = 'running', started_at = now() WHERE id = $1`, [
      id,
    ]);
    await workflows.cancel(id);
  });
});

describe('a workflow without rules', () => {
  it('is advanced by everybody', async () => {
    const id = await workflows.create([step('a'), step('b', ['a'])]);
    expect(await rulesOf(id)).toEqual([{ rules: null }]);
    expect(
      await database.query('UPDATE millrace.workflow_runs SET state = state WHERE id = $1 RETURNING id', [id]),
    ).toEqual([{ id }]);
    await workflows.cancel(id);
  });
});
