import { DEFAULT_JOB_CONFIG, type JobConfig } from '@millrace/contract';
import type { CronRecord } from '../../domain/cron-records.js';
import type {
  AttemptRecord,
  DeadLetterRecord,
  Instant,
  JobAttempts,
  JobLogs,
  LogRecord,
  JobCheckpoints,
  JobRecord,
  JobSummaryRecord,
  JsonText,
  LeasedJob,
  WaitingForRecord,
} from '../../domain/records.js';
import type { WorkflowRecord, WorkflowSnapshot, WorkflowSummaryRecord } from '../../domain/workflow-records.js';
import type { DryRunRecord, OperationRecord } from '../../domain/operations.js';
import type { DeadLetterGroupPage, EndedJobsPage, OperationPage, Page, PageEnds, WaitPage } from '../../engine/api.js';

/**
 * Assembles the JSON text of records. Payload, result and metadata are already JSON and pass through untouched: they
 * are the bulk of every answer. Parsing them and writing them again would be most of the cost of a request, and would
 * lose digits that JavaScript's numbers cannot hold.
 */

const DEFAULT_CONFIG_TEXT = configText(DEFAULT_JOB_CONFIG);

const text = (value: string): string => JSON.stringify(value);
const textOrNull = (value: string | null): string => (value === null ? 'null' : JSON.stringify(value));
/** Instants and ids come from the database in a form that needs no escaping. */
const plainOrNull = (value: Instant | null): string => (value === null ? 'null' : `"${value}"`);

function configText(config: JobConfig): string {
  return (
    `{"priority":${config.priority},"max_retries":${config.max_retries},"timeout_secs":${config.timeout_secs}` +
    `,"retry_backoff":"${config.retry_backoff}","retry_delay_secs":${config.retry_delay_secs}` +
    `,"retry_max_delay_secs":${config.retry_max_delay_secs},"jitter_factor":${config.jitter_factor}` +
    (config.limits === undefined ? '' : `,"limits":${JSON.stringify(config.limits)}`) +
    (config.expires_secs === undefined ? '' : `,"expires_secs":${config.expires_secs}`) +
    (config.expires_at === undefined ? '' : `,"expires_at":"${config.expires_at}"`) +
    (config.unique === undefined ? '}' : `,"unique":${JSON.stringify(config.unique)}}`)
  );
}

export function jobJson(job: JobRecord): string {
  const config = job.config === DEFAULT_JOB_CONFIG ? DEFAULT_CONFIG_TEXT : configText(job.config);
  return (
    `{"id":"${job.id}","queue_name":${text(job.queue_name)},"task_name":${text(job.task_name)}` +
    `,"payload":${job.payload},"config":${config},"status":"${job.status}","result":${job.result ?? 'null'}` +
    `,"error_message":${textOrNull(job.error_message)},"retry_count":${job.retry_count}` +
    `,"delivery_count":${job.delivery_count},"created_at":"${job.created_at}","scheduled_at":"${job.scheduled_at}"` +
    `,"started_at":${plainOrNull(job.started_at)},"completed_at":${plainOrNull(job.completed_at)}` +
    `,"next_retry_at":${plainOrNull(job.next_retry_at)},"idempotency_key":${textOrNull(job.idempotency_key)}` +
    `,"workflow_id":${plainOrNull(job.workflow_id)},"workflow_step_id":${textOrNull(job.workflow_step_id)}` +
    `,"tenant_id":${text(job.tenant_id)},"metadata":${job.metadata},"worker_id":${textOrNull(job.worker_id)}` +
    `,"lease_expires_at":${plainOrNull(job.lease_expires_at)},"progress":${job.progress ?? 'null'}` +
    `${parentJson(job)}${job.waiting_for ? `,"waiting_for":${waitingForJson(job.waiting_for)}` : ''}` +
    `${job.error_details === undefined ? '' : `,"error_details":${job.error_details}`}}`
  );
}

const parentJson = ({ parent_job_id: id }: Pick<JobRecord, 'parent_job_id'>): string =>
  id === undefined ? '' : `,"parent_job_id":"${id}"`;

const waitingForJson = ({ checkpoint, since, until, signal, key, ask, children }: WaitingForRecord): string =>
  `{"checkpoint":${text(checkpoint)},"since":"${since}","until":"${until}","signal":${textOrNull(signal)}` +
  `,"key":${textOrNull(key)},"ask":${ask ?? 'null'},"children":${JSON.stringify(children)}}`;

export const checkpointJson = (name: string, value: JsonText): string => `{"name":${text(name)},"value":${value}}`;

export function checkpointsJson({ checkpoints, waits }: JobCheckpoints): string {
  const stored = checkpoints.map(
    ({ name, value, at, attempt }) => `{"name":${text(name)},"value":${value},"at":"${at}","attempt":${attempt}}`,
  );
  return `{"checkpoints":[${stored.join(',')}],"waits":${JSON.stringify(waits)}}`;
}

export function waitsJson({ waits, nextCursor }: WaitPage): string {
  const items = waits.map(
    (wait) =>
      `{"job_id":"${wait.job_id}","task_name":${text(wait.task_name)},"name":${text(wait.name)}` +
      `,"key":${text(wait.key)},"ask":${wait.ask ?? 'null'},"since":"${wait.since}","until":"${wait.until}"` +
      `,"workflow_id":${textOrNull(wait.workflow_id)},"workflow_step_id":${textOrNull(wait.workflow_step_id)}}`,
  );
  const next = nextCursor === null ? '' : `,"next_cursor":${text(nextCursor)}`;
  return `{"waits":[${items.join(',')}],"has_more":${nextCursor !== null}${next}}`;
}

/** The same on one line, as an event stream needs it. */
export const jobJsonLine = (job: JobRecord): string => onOneLine(jobJson(job));

/**
 * In JSON text a raw line break can only be white space between tokens (inside strings it is escaped), so a space can
 * replace it.
 */
export const onOneLine = (json: string): string => json.replace(/[\r\n]+/g, ' ');

/** A job without payload, result and metadata. */
export function jobSummaryJson(job: JobSummaryRecord): string {
  const config = job.config === DEFAULT_JOB_CONFIG ? DEFAULT_CONFIG_TEXT : configText(job.config);
  return (
    `{"id":"${job.id}","queue_name":${text(job.queue_name)},"task_name":${text(job.task_name)}` +
    `,"config":${config},"status":"${job.status}"` +
    `,"error_message":${textOrNull(job.error_message)},"retry_count":${job.retry_count}` +
    `,"delivery_count":${job.delivery_count},"created_at":"${job.created_at}","scheduled_at":"${job.scheduled_at}"` +
    `,"started_at":${plainOrNull(job.started_at)},"completed_at":${plainOrNull(job.completed_at)}` +
    `,"next_retry_at":${plainOrNull(job.next_retry_at)},"idempotency_key":${textOrNull(job.idempotency_key)}` +
    `,"workflow_id":${plainOrNull(job.workflow_id)},"workflow_step_id":${textOrNull(job.workflow_step_id)}` +
    `,"tenant_id":${text(job.tenant_id)},"worker_id":${textOrNull(job.worker_id)}` +
    `,"lease_expires_at":${plainOrNull(job.lease_expires_at)},"progress":${job.progress ?? 'null'}` +
    `,"payload_bytes":${job.payload_bytes}${parentJson(job)}}`
  );
}

export function leaseJson(leased: readonly LeasedJob[]): string {
  return `{"jobs":[${leased.map((each) => `{"job":${jobJson(each.job)},"lease_token":"${each.leaseToken}"}`).join(',')}]}`;
}

function attemptJson(attempt: AttemptRecord): string {
  return (
    `{"number":${attempt.number},"outcome":"${attempt.outcome}","worker_id":${textOrNull(attempt.worker_id)}` +
    `,"started_at":${plainOrNull(attempt.started_at)},"ended_at":${plainOrNull(attempt.ended_at)}` +
    `,"error_message":${textOrNull(attempt.error_message)},"error_details":${attempt.error_details ?? 'null'}` +
    `,"next_retry_at":${plainOrNull(attempt.next_retry_at)}}`
  );
}

export const attemptsJson = ({ first_due_at, attempts, omitted }: JobAttempts): string =>
  `{"first_due_at":"${first_due_at}","attempts":[${attempts.map(attemptJson).join(',')}],"omitted":${omitted}}`;

export const endedJobsJson = ({ jobs, next, more, missed }: EndedJobsPage): string =>
  `{"jobs":[${jobs.map(jobSummaryJson).join(',')}],"next":${JSON.stringify(next)},"more":${more},"missed":${missed}}`;

export const logsJson = ({ lines, omitted, next }: JobLogs): string => {
  const ending = next === null ? '' : `,"next":${JSON.stringify(next)}`;
  return `{"lines":[${lines.map(logLineJson).join(',')}],"omitted":${omitted}${ending}}`;
};

function logLineJson({ attempt, seq, at, level, message, fields }: LogRecord): string {
  const said = `"attempt":${attempt},"seq":${seq},"at":"${at}","level":"${level}","message":${JSON.stringify(message)}`;
  return `{${said}${fields === null ? '' : `,"fields":${fields}`}}`;
}

export function deadLetterJson(letter: DeadLetterRecord): string {
  const { id, job_id, queue_name, task_name, reason, error_message, created_at } = letter;
  const { replayed_at, replay_job_id, tenant_id, payload_bytes, retry_count, fingerprint } = letter;
  return JSON.stringify({
    id,
    job_id,
    queue_name,
    task_name,
    reason,
    error_message,
    created_at,
    replayed_at,
    replay_job_id,
    tenant_id,
    payload_bytes,
    retry_count,
    fingerprint,
  });
}

export const deadLetterGroupsJson = ({ groups, nextCursor, searchedTo }: DeadLetterGroupPage): string =>
  JSON.stringify({
    groups,
    has_more: nextCursor !== null,
    ...(nextCursor !== null && { next_cursor: nextCursor }),
    ...(searchedTo !== null && { searched_to: searchedTo }),
  });

/** Steps, context and metadata are already JSON. */
export function workflowJson(workflow: WorkflowRecord): string {
  return (
    `{"id":"${workflow.id}","name":${text(workflow.name)},"status":"${workflow.status}","steps":${workflow.steps}` +
    `,"context":${workflow.context},"metadata":${workflow.metadata},"created_at":"${workflow.created_at}"` +
    `,"started_at":${plainOrNull(workflow.started_at)},"completed_at":${plainOrNull(workflow.completed_at)}` +
    `,"tenant_id":${text(workflow.tenant_id)}}`
  );
}

/** On one line, as an event stream needs it; see jobJsonLine. */
export const workflowEventLine = ({ workflow, steps }: WorkflowSnapshot): string =>
  `{"workflow":${workflowJson(workflow)},"steps":${JSON.stringify(steps)}}`.replace(/[\r\n]+/g, ' ');

/** A workflow without its definition and its context. */
export function workflowSummaryJson(workflow: WorkflowSummaryRecord): string {
  return (
    `{"id":"${workflow.id}","name":${text(workflow.name)},"status":"${workflow.status}"` +
    `,"metadata":${workflow.metadata},"created_at":"${workflow.created_at}"` +
    `,"started_at":${plainOrNull(workflow.started_at)},"completed_at":${plainOrNull(workflow.completed_at)}` +
    `,"tenant_id":${text(workflow.tenant_id)},"steps_total":${workflow.steps_total}` +
    `,"steps_ended":${workflow.steps_ended},"steps_by_status":${JSON.stringify(workflow.steps_by_status)}` +
    `,"failed_step":${JSON.stringify(workflow.failed_step)}}`
  );
}

export function cronJson(cron: CronRecord): string {
  return (
    `{"id":"${cron.id}","name":${text(cron.name)},"cron_expr":${text(cron.cron_expr)}` +
    `,"timezone":${text(cron.timezone)},"task_name":${textOrNull(cron.task_name)},"workflow":${cron.workflow}` +
    `,"payload":${cron.payload},"queue_name":${textOrNull(cron.queue_name)}` +
    `,"config":${cron.config},"overlap":"${cron.overlap}","enabled":${cron.enabled},"next_run_at":${plainOrNull(cron.next_run_at)}` +
    `,"last_enqueued_at":${plainOrNull(cron.last_enqueued_at)},"created_at":"${cron.created_at}"` +
    `,"tenant_id":${text(cron.tenant_id)}}`
  );
}

export function operationJson({ filter, ...operation }: OperationRecord): string {
  const { id, action, status, matched, done, changed, skipped, outcome, created_at, completed_at } = operation;
  const rest = JSON.stringify({ status, matched, done, changed, skipped, outcome, created_at, completed_at });
  return `{"id":"${id}","action":"${action}","filter":${filter ?? 'null'},${rest.slice(1)}`;
}

export function operationsJson({ operations, nextCursor }: OperationPage): string {
  const next = nextCursor === null ? '' : `,"next_cursor":${text(nextCursor)}`;
  return `{"operations":[${operations.map(operationJson).join(',')}],"has_more":${nextCursor !== null}${next}}`;
}

export const dryRunJson = ({ matched, sample }: DryRunRecord): string => JSON.stringify({ matched, sample });

export interface AppliedWindow {
  readonly limit: number;
  readonly offset: number;
}

/** A page with its items under `key`. */
export const pageJson = <T>(
  key: string,
  page: Pick<Page<T>, 'items' | 'total'> & PageEnds,
  applied: AppliedWindow,
  itemJson: (item: T) => string,
): string => pageHead(key) + page.items.map(itemJson).join(',') + pageTail(page, applied);

export const pageHead = (key: string): string => `{"${key}":[`;

export function pageTail(
  { nextCursor, prevCursor, searchedTo, total: counted }: Pick<Page<unknown>, 'total'> & PageEnds,
  applied: AppliedWindow,
): string {
  const next = nextCursor === null ? '' : `,"next_cursor":${text(nextCursor)}`;
  const prev = prevCursor === null ? '' : `,"prev_cursor":${text(prevCursor)}`;
  const searched = searchedTo === null ? '' : `,"searched_to":"${searchedTo}"`;
  const total = counted === null ? '' : `,"total":${counted}`;
  const more = `"has_more":${nextCursor !== null}${next}${prev}${searched}${total}`;
  return `],"limit":${applied.limit},"offset":${applied.offset},${more}}`;
}
