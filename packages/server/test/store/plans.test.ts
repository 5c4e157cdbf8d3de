import { afterAll, describe, expect, it } from 'vitest';
import { cloneDatabase } from '../support/database.js';
import { hotConnection, PLANNED_ANEW, statements } from './statements.js';

/**
 * The statements of the queue keep one plan for ever, made while the tables were as they happened to be
 * (docs/adr/0009-plans.md). So each must have the right plan whatever they hold: no table is read from end to end, as a
 * table or along an index without a condition.
 */
/** The tenants who follow the ends of their jobs at this moment, a row each. */
const FOLLOWED = ['followed', 'followed_pkey'];
/** Whole readings that are meant, by statement and index or table. */
const MEANT: Readonly<Record<string, readonly string[]>> = {
  // Whether anybody watches anything: the first entry answers, and few jobs are watched at a time.
  claim_for_pool: ['watches_pkey'],
  claim_for_workers: ['watches_pkey'],
  share_for_pool: ['watches_pkey'],
  share_for_workers: ['watches_pkey'],
  settle: ['watches_pkey', ...FOLLOWED],
  settle_completed: ['watches_pkey', ...FOLLOWED],
  settle_bundled: ['watches_pkey', ...FOLLOWED],
  settle_bundled_limited: ['watches_pkey', ...FOLLOWED],
  cancel_waiting: ['watches_pkey', ...FOLLOWED],
  settle_limited: ['watches_pkey', ...FOLLOWED],
  settle_completed_limited: ['watches_pkey', ...FOLLOWED],
  cancel_waiting_limited: ['watches_pkey', ...FOLLOWED],
  expire_waiting: FOLLOWED,
  // What ended in the last minutes.
  forget_ends: ['recent_ends', 'recent_ends_pkey', ...FOLLOWED],
  // What settlements have returned since the last sweep, two hundred at a time.
  gather_returns: ['limit_returns'],
  // What nobody has taken up yet, a thousand at a time, and whether there is any limit.
  wake_sleepers: [
    ...[
      'limit_returns',
      'limit_notes',
      'limit_notes_by_limit',
      'limit_notes_to_act_on',
      'limits',
      'limits_pkey',
      'limits_by_name',
      'unique_keys',
      'unique_keys_pkey',
    ],
    ...['queue_limits', 'queue_limits_pkey'],
  ],
  // One row, and whether any tenant is outside its range.
  cell_range: ['cell'],
  cell_row: ['cell'],
  end_pruning: ['cell'],
  // Bounded, for an operator who asks.
  cell_counts: ['tenants', 'tenants_by_bucket', 'ready', 'ready_pkey', 'leases', 'leases_pkey', 'bundles'],
  narrow_range: ['cell', 'tenants_by_bucket'],
  // What operators have set, a row each.
  limited_queues: ['queue_limits', 'queue_limits_pkey'],
  // The last ten thousand things that they did.
  trim_audit: ['audit', 'audit_pkey'],
  forget_streams: ['watches', 'watches_pkey', 'transitions_by_job'],
  // A process writes itself down, and a queue is one row, of which there are ten thousand at most; so is a worker that
  // asked in the last ten minutes.
  registered_tasks: ['processes'],
  offers_lately: ['offers'],
  forget_presence: ['processes', 'queues', 'offers'],
  // At most five operations of a tenant run at a time.
  adopt_operations: ['operations_running'],
  release_operations: ['operations_running'],
  // There are as many bundles as claims of which something runs at this moment.
  unbundle: ['bundles_pkey'],
  forget_bundles: ['bundles', 'bundles_pkey'],
  // What running attempts have reported, and what is left of it.
  forget_progress: ['progress', 'progress_pkey'],
  // Whether there is any.
  has_tenants: ['tenants', 'tenants_pkey', 'tenants_by_bucket'],
  extend_with_progress: ['watches_pkey'],
  forget_claim_marks: ['claim_marks', 'claim_marks_pkey', 'bundles', 'bundles_pkey', 'leases', 'leases_pkey'],
};

interface Plan {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Index Name'?: string;
  readonly 'Index Cond'?: string;
  readonly Plans?: readonly Plan[];
}

function wholeReadings(plan: Plan): string[] {
  const inner = (plan.Plans ?? []).flatMap(wholeReadings);
  if (plan['Node Type'] === 'Seq Scan') return [plan['Relation Name'] ?? '?', ...inner];
  const isIndex = plan['Node Type'].startsWith('Index');
  return isIndex && plan['Index Cond'] === undefined ? [plan['Index Name'] ?? '?', ...inner] : inner;
}

const FILL = `
  INSERT INTO millrace.tenants VALUES ('t', 1);
  CREATE TEMP TABLE made AS
    SELECT n, now() - n * interval '1 second' AS at, (millrace.id_prefix(now()) || '8' || lpad(to_hex(n), 15, '0'))::uuid AS id FROM generate_series(1, 4000) AS n;
  INSERT INTO millrace.jobs (created_at, priority, id, tenant, queue, task, payload, workflow_id, step)
    SELECT at, 0, id, 't', 'q', 'x', '{}', id, 's' FROM made;
  INSERT INTO millrace.ready (scheduled_at, priority, retry_count, delivery_count, id, tenant, queue) SELECT at, n % 3, 0, 0, id, 't', 'q' FROM made;
  INSERT INTO millrace.limits (most, id, tenant, queue, key) SELECT 1, id, 't', 'q', n::text FROM made;
  INSERT INTO millrace.limit_notes (given_back, limit_id) SELECT 0, id FROM made;
  INSERT INTO millrace.limit_returns SELECT 't', ARRAY[id], '{1}' FROM made;
  INSERT INTO millrace.unique_keys (id, job_id, tenant) SELECT id, id, 't' FROM made;
  INSERT INTO millrace.leases (locked_until, started_at, retry_count, delivery_count, id, token, tenant) SELECT at, at, 0, 1, id, id, 't' FROM made;
  INSERT INTO millrace.bundles (locked_until, started_at, first_id, last_id, token, tenant, queue, open, taken, ids)
    SELECT at, at, id, id, id, 't', 'q', '1', '', ARRAY[id] FROM made;
  INSERT INTO millrace.claim_marks SELECT at, n, id FROM made;
  INSERT INTO millrace.attempts (started_at, ended_at, number, slot, outcome, job_id, tenant) SELECT at, at, 1, 1, 'failed', id, 't' FROM made;
  INSERT INTO millrace.progress (at, job_id, token, tenant, progress) SELECT at, id, id, 't', '{}' FROM made;
  INSERT INTO millrace.log_totals (bytes, lines, replaced, attempt, slot, job_id, tenant) SELECT 1, 1, 0, 1, 1, id, 't' FROM made;
  INSERT INTO millrace.log_lines (at, start, seq, bytes, attempt, level, job_id, message) SELECT at, 0, 1, 1, 1, 0, id, 'x' FROM made;
  INSERT INTO millrace.done (completed_at, retry_count, delivery_count, status, id, tenant, result) SELECT at, 0, 1, 'completed', id, 't', '{}' FROM made;
  INSERT INTO millrace.followed (until, course, tenant) SELECT at, id, n::text FROM made;
  INSERT INTO millrace.recent_ends (at, job_id, status, tenant) SELECT at, id, 'completed', 't' FROM made;
  INSERT INTO millrace.queues (last_lease_at, queue) SELECT at, n::text FROM made;
  INSERT INTO millrace.processes (seen_at, id, tasks) SELECT at, id, '{echo}' FROM made;
  INSERT INTO millrace.idempotency_keys SELECT 't', n::text, id FROM made;
  INSERT INTO millrace.dead_letters (created_at, job_id, reason, tenant, queue, task) SELECT at, id, 'non_retryable', 't', 'q', 'x' FROM made;
  INSERT INTO millrace.crons (created_at, next_run_at, priority, id, tenant, name, expr, task, queue, payload, config)
    SELECT at, at, 0, id, 't', n::text, '* * * * *', 'x', 'q', '{}', '{}' FROM made;
  INSERT INTO millrace.workflows (created_at, id, tenant, name, definition) SELECT at, id, 't', 'w', '[]' FROM made;
  INSERT INTO millrace.workflow_runs (status, id, tenant, state, context) SELECT 'running', id, 't', 'x', '{}' FROM made;
  INSERT INTO millrace.workflow_ends (completed_at, status, id, tenant, state, context) SELECT at, 'completed', id, 't', 'x', '{}' FROM made`;

describe.each([
  ['tables that were never filled', []],
  ['tables known to be empty', ['ANALYZE']],
  ['full tables', [FILL, 'ANALYZE']],
])('with %s', async (_what, preparation) => {
  const database = await cloneDatabase();
  const client = await hotConnection(database);
  for (const text of preparation) await client.query(text);
  afterAll(async () => {
    await client.end();
    await database.drop();
  });

  it.each(statements().filter(({ name }) => !PLANNED_ANEW.includes(name)))(
    '$name reads only what it is after',
    async ({ name, text }) => {
      const { rows } = await client.query<{ 'QUERY PLAN': [{ Plan: Plan }] }>(
        `EXPLAIN (GENERIC_PLAN, FORMAT JSON) ${text}`,
      );
      const unmeant = wholeReadings(rows[0]!['QUERY PLAN'][0].Plan).filter((what) => !MEANT[name]?.includes(what));
      expect(unmeant).toEqual([]);
    },
  );
});
