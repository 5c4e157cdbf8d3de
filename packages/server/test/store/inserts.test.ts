import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { allStatements } from '../engine/jobs/plan-kit.js';
import { cloneDatabase, type TestDatabase } from '../support/database.js';

const OF_STEPS = ['context', 'context_bytes'];
const OF_LIMITED = ['limits', 'waits_for', 'expires_at'];

/**
 * Jobs are made by several statements. Each names its columns in the order of the table, and what it leaves out is said
 * here: so whoever adds a column is led to every place that has to know it (see CONTRIBUTING.md, "Adding a field to a
 * job").
 */
const LEFT_OUT: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  jobs: {
    create_jobs: ['idempotency_key', 'workflow_id', 'step', ...OF_STEPS, 'limits'],
    create_varied: ['idempotency_key', 'workflow_id', 'step', ...OF_STEPS, 'limits'],
    create_alike: ['run_at', 'metadata', 'idempotency_key', 'workflow_id', 'step', ...OF_STEPS, 'limits'],
    create_keyed_jobs: ['workflow_id', 'step', ...OF_STEPS, 'limits'],
    create_fresh_alike: ['run_at', 'metadata', 'workflow_id', 'step', ...OF_STEPS, 'limits'],
    create_keyed_items: ['workflow_id', 'step', ...OF_STEPS, 'limits'],
    create_fresh_items: ['workflow_id', 'step', ...OF_STEPS, 'limits'],
    create_fresh_alike_items: ['run_at', 'metadata', 'workflow_id', 'step', ...OF_STEPS, 'limits'],
    replay: ['run_at', 'idempotency_key', 'workflow_id', 'step', ...OF_STEPS],
    replay_letters: ['run_at', 'idempotency_key', 'workflow_id', 'step', ...OF_STEPS],
    rerun_many: ['run_at', 'idempotency_key', 'workflow_id', 'step', ...OF_STEPS],
    fire_crons: ['run_at', 'workflow_id', 'step', ...OF_STEPS],
    trigger_cron: ['run_at', 'idempotency_key', 'workflow_id', 'step', ...OF_STEPS],
    create_workflows: ['run_at', 'idempotency_key'],
    advance_runs: ['run_at', 'idempotency_key'],
    resume_run: ['run_at', 'idempotency_key'],
    create_limited: ['workflow_id', 'step', ...OF_STEPS],
  },
  ready: {
    create_jobs: ['started_at', 'workflow_id', 'error', ...OF_LIMITED],
    create_varied: ['started_at', 'workflow_id', 'error', ...OF_LIMITED],
    create_alike: ['started_at', 'workflow_id', 'error', 'later', ...OF_LIMITED],
    create_keyed_jobs: ['started_at', 'workflow_id', 'error', ...OF_LIMITED],
    create_fresh_alike: ['started_at', 'workflow_id', 'error', 'later', ...OF_LIMITED],
    create_keyed_items: ['started_at', 'workflow_id', 'error', ...OF_LIMITED],
    create_fresh_items: ['started_at', 'workflow_id', 'error', ...OF_LIMITED],
    create_fresh_alike_items: ['started_at', 'workflow_id', 'error', 'later', ...OF_LIMITED],
    replay: ['started_at', 'workflow_id', 'error'],
    replay_letters: ['started_at', 'workflow_id', 'error'],
    rerun_many: ['started_at', 'workflow_id', 'error'],
    run_many_now: [],
    fire_crons: ['started_at', 'workflow_id', 'error'],
    trigger_cron: ['started_at', 'workflow_id', 'error'],
    create_workflows: ['started_at', 'error', 'expires_at'],
    advance_runs: ['started_at', 'error', 'expires_at'],
    resume_run: ['started_at', 'error', 'expires_at'],
    create_limited: ['started_at', 'workflow_id', 'error'],
    settle: OF_LIMITED,
    settle_limited: [],
    claim_for_pool: ['later', 'waits_for'],
    claim_for_workers: ['later', 'waits_for'],
    share_for_pool: ['later', 'waits_for'],
    share_for_workers: ['later', 'waits_for'],
    run_now: ['later', ...OF_LIMITED],
    run_now_limited: [],
    wake_sleepers: [],
    suspend: ['expires_at'],
    wake: [],
  },
};

function insertsInto(table: string): { readonly statement: string; readonly columns: readonly string[] }[] {
  const insert = new RegExp(`INSERT INTO millrace\\.${table} \\(([^)]*)\\)`, 'g');
  return allStatements().flatMap(({ statement: { name, text } }) =>
    [...text.matchAll(insert)].map(([, list]) => ({ statement: name, columns: list!.trim().split(/\s*,\s*/) })),
  );
}

/** The names in the list of CONTRIBUTING.md, "Adding a field to a job", that follow these words. */
function namesAfter(words: string): string[] {
  const page = readFileSync(new URL('../../../../CONTRIBUTING.md', import.meta.url), 'utf8');
  const item = page.slice(page.indexOf(words)).split(/\n\d+\. |\n {3}`packages/)[0]!;
  return [...item.matchAll(/`(\w+)`/g)].map(([, name]) => name!).filter((name) => name !== 'jobs');
}

it('CONTRIBUTING.md lists those that insert into jobs', () => {
  const inserts = Object.keys(LEFT_OUT.jobs!);
  expect(namesAfter('The seventeen inserts into `jobs`').sort()).toEqual(inserts.sort());
  expect(inserts).toHaveLength(17);
});

describe('the statements that insert into', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await cloneDatabase();
  });
  afterAll(() => database.drop());

  it.each(Object.keys(LEFT_OUT))(
    '%s name all of its columns, in its order, but those that are meant to be null',
    async (table) => {
      const rows = await database.query<{ name: string }>(
        `SELECT column_name AS name FROM information_schema.columns
       WHERE table_schema = 'millrace' AND table_name = $1 ORDER BY ordinal_position`,
        [table],
      );
      const all = rows.map(({ name }) => name);
      const expected = Object.entries(LEFT_OUT[table]!).map(([statement, without]) => ({
        statement,
        columns: all.filter((column) => !without.includes(column)),
      }));
      const byName = (x: { statement: string }, y: { statement: string }): number =>
        x.statement < y.statement ? -1 : 1;
      expect(insertsInto(table).sort(byName)).toEqual(expected.sort(byName));
    },
  );
});
