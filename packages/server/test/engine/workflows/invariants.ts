import { expect } from 'vitest';
import type { TestDatabase } from '../../support/database.js';

/** What must hold of every workflow at every instant, read straight from the tables. */
interface StoredWorkflow {
  readonly id: string;
  readonly definition: readonly { readonly name: string }[];
  readonly state: string;
  readonly status: string;
  readonly jobs: Readonly<Record<string, readonly string[]>> | null;
}

const WORKFLOWS = `
  SELECT w.id, w.definition, w.state, w.status, (
    SELECT json_object_agg(step, statuses) FROM (
      SELECT j.step, json_agg(r.status) AS statuses
      FROM millrace.jobs j JOIN millrace.job_records r ON r.tenant = j.tenant AND r.id = j.id
      WHERE j.workflow_id = w.id AND j.step IS NOT NULL GROUP BY j.step
    ) AS of_step
  ) AS jobs
  FROM millrace.workflow_records w`;

/** The status its job must have, for a step in that state; null stands for no job. */
const JOBS: Readonly<Record<string, readonly (string | null)[]>> = {
  b: [null],
  q: ['pending', 'running', 'retrying'],
  c: ['completed'],
  f: ['failed'],
  x: ['cancelled', null],
  s: [null],
  n: [null],
  p: [null],
};

/** `ended`: and none goes on. */
export async function expectLegal(database: TestDatabase, { ended = false } = {}): Promise<void> {
  const problems: string[] = [];
  for (const { id, definition, state, status, jobs } of await database.query<StoredWorkflow & Record<string, unknown>>(
    WORKFLOWS,
  )) {
    const isTerminal = status !== 'created' && status !== 'running';
    if (isTerminal && /[bq]/.test(state)) problems.push(`${id} is ${status} with unfinished steps: ${state}`);
    if (!isTerminal && !state.includes('q')) problems.push(`${id} hangs: ${status} with nothing to wait for: ${state}`);
    if (ended && !isTerminal) problems.push(`${id} is ${status}: ${state}`);
    for (const [index, { name }] of definition.entries()) {
      const statuses = jobs?.[name] ?? [null];
      const fits = statuses.length === 1 && JOBS[state[index]!]!.includes(statuses[0] ?? null);
      if (!fits) problems.push(`${id}: step ${name} is ${state[index]}, its jobs are ${JSON.stringify(statuses)}`);
    }
  }
  expect(problems).toEqual([]);
}
