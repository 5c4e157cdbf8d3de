import type pg from 'pg';
import { onConnection } from '../connection/one-connection.js';
import { appliedVersion, compare, type SchemaState } from './migrate.js';
import { isServable } from './schema-check.js';
import { loadStatements } from '../sql.js';

/** Every check in sql/queries/store/doctor.sql; all of them run in one read-only snapshot. */
export const CHECKS = [
  'job_is_in_one_table',
  'state_has_its_job',
  'failed_job_has_its_dead_letter',
  'dead_letter_belongs_to_a_failed_job',
  'retries_stay_within_budget',
  'no_lease_is_long_overdue',
  'id_agrees_with_its_row',
  'tenant_belongs_here',
  'key_leads_to_its_job',
  'occurrence_has_one_job',
  'workflow_is_in_one_table',
  'ended_workflow_has_no_live_step',
  'running_workflow_goes_on',
  'waiting_step_can_be_told',
  'step_has_its_context',
  'context_has_its_workflow',
  'earlier_job_was_set_aside',
  'enabled_cron_has_a_next_run',
  'limit_counts_what_holds_room',
  'waiting_job_waits_for_room',
  'waiting_job_has_a_turn',
  'waiting_job_is_in_a_line',
  'sleeping_job_is_woken',
  'limit_is_looked_at',
  'note_is_about_a_limit',
  'token_belongs_to_a_limit',
] as const;

export type CheckName = (typeof CHECKS)[number];

export interface Finding {
  readonly subject: string;
  readonly finding: string;
}

export interface CheckResult {
  readonly check: CheckName;
  readonly violations: number;
  /** The first EXAMPLES of them. */
  readonly examples: readonly Finding[];
}

export interface Inspection {
  readonly schema: SchemaState;
  /** Empty if the schema is not one that this program can live with. */
  readonly checks: readonly CheckResult[];
}

const sql = loadStatements('store/doctor.sql');
const EXAMPLES = 5;
/** It is asked when something is wrong, of a database that may be slow for the same reason. */
const CONNECT_MS = 60_000;

export async function inspect(url: string): Promise<Inspection> {
  return onConnection({ url, name: 'millrace-doctor', connectMs: CONNECT_MS }, async (client) => {
    await client.query('BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY');
    const schema = compare(await appliedVersion(client));
    const checks: CheckResult[] = [];
    if (isServable(schema)) for (const check of CHECKS) checks.push(await ask(client, check));
    return { schema, checks };
  });
}

async function ask(client: pg.Client, check: CheckName): Promise<CheckResult> {
  const text = `SELECT subject, finding, count(*) OVER ()::int AS n FROM (${sql[check].text}) AS found LIMIT ${EXAMPLES}`;
  const { rows } = await client.query<Finding & { n: number }>(text);
  return { check, violations: rows[0]?.n ?? 0, examples: rows.map(({ subject, finding }) => ({ subject, finding })) };
}
