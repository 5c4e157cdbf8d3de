import type * as Wire from '../../wire/index.js';
import { firstOf, timetableOf, type Timetable } from './cron-expression.js';
import { invalid } from './problem.js';
import { hasEnded } from '../../records/jobs.js';
import { SERVICE_QUEUE, TENANT, type FakeStore, type StoredCron } from './store.js';
import { createWorkflow, workflowEnded } from './workflows.js';

const OF_JOBS = ['task_name', 'payload', 'queue', 'config'] as const;

/** Creates the schedule of a name or replaces what it says. */
export function putCron(store: FakeStore, name: string, given: Wire.PutCron): { cron: StoredCron; created: boolean } {
  const timezone = given.timezone ?? 'UTC';
  const { workflow = null } = given;
  const extra = workflow && OF_JOBS.find((field) => (given[field] ?? null) !== null);
  if (extra) throw invalid(extra, 'must be left out: the schedule has a workflow');
  if (workflow === null && !given.task_name)
    throw invalid('task_name', 'is required, unless the schedule has a workflow');
  const timetable = timetableOf(given.cron_expr, timezone);
  const before = [...store.crons.values()].find((cron) => cron.record.name === name);
  const same = before?.record.cron_expr === given.cron_expr && before.record.timezone === timezone;
  const enabled = before?.record.enabled ?? true;
  const next = same ? timetable.next(store.clock.now()) : firstOf(timetable, store.clock.now());
  const record: Wire.Cron = {
    id: before?.record.id ?? store.newId(),
    name,
    cron_expr: given.cron_expr,
    timezone,
    task_name: given.task_name ?? null,
    workflow,
    payload: given.payload ?? {},
    queue_name: workflow === null ? (given.queue ?? SERVICE_QUEUE) : null,
    config: given.config ?? {},
    overlap: given.overlap ?? 'allow',
    enabled,
    next_run_at: same ? before.record.next_run_at : enabled && next !== null ? store.clock.text(next) : null,
    last_enqueued_at: before?.record.last_enqueued_at ?? null,
    created_at: before?.record.created_at ?? store.clock.text(),
    tenant_id: TENANT,
  };
  const cron: StoredCron = { record, firings: before?.firings ?? [] };
  store.crons.set(record.id, cron);
  return { cron, created: before === undefined };
}

export function setEnabled(store: FakeStore, cron: StoredCron, enabled: boolean): void {
  if (cron.record.enabled === enabled) return;
  const next = enabled ? timesOf(cron.record).next(store.clock.now()) : null;
  // One whose last occurrence has passed has nothing to resume.
  if (enabled && next === null) return;
  cron.record = { ...cron.record, enabled, next_run_at: next === null ? null : store.clock.text(next) };
}

export const timesOf = ({ cron_expr, timezone }: Wire.Cron): Timetable => timetableOf(cron_expr, timezone);

/** The next instants; those it would have if it were resumed now. */
export function nextRuns(store: FakeStore, timetable: Timetable, count: number): string[] {
  const runs: string[] = [];
  for (let at: number | null = store.clock.now(); runs.length < count;) {
    at = timetable.next(at);
    if (at === null) break;
    runs.push(store.clock.text(at));
  }
  return runs;
}

/** What a firing brings about. `occurrence`: null if it is triggered by hand, which no overlap hinders. */
export function fireCron(store: FakeStore, cron: StoredCron, occurrence: number | null): Wire.CronTriggered {
  const due = store.clock.text(occurrence ?? store.clock.now());
  const times = { occurrence: due, fired_at: store.clock.text() };
  if (occurrence !== null && cron.record.overlap === 'skip' && isUnderWay(store, cron)) {
    cron.firings.unshift({ ...times, kind: 'skipped', job_id: null, workflow_id: null });
    return {};
  }
  const { id, name } = cron.record;
  const metadata = { cron_id: id, cron_name: name, ...(occurrence !== null && { cron_due_at: due }) };
  const fired = started(store, cron, metadata, occurrence === null ? null : `millrace:cron:${id}:${due}`);
  const { job_id = null, workflow_id = null } = fired;
  cron.firings.unshift({ ...times, kind: occurrence === null ? 'triggered' : 'on_time', job_id, workflow_id });
  cron.record = { ...cron.record, last_enqueued_at: store.clock.text() };
  return fired;
}

function started(store: FakeStore, { record }: StoredCron, metadata: object, key: string | null): Wire.CronTriggered {
  const { task_name, queue_name, payload, config, workflow } = record;
  if (workflow !== null)
    return {
      workflow_id: createWorkflow(store, { ...workflow, metadata: { ...workflow.metadata, ...metadata } }).record.id,
    };
  const place = { task_name: task_name ?? '', queue_name: queue_name ?? SERVICE_QUEUE };
  const fields = { ...place, payload, metadata: { ...metadata }, idempotency_key: key };
  return { job_id: store.addJob(fields, config, store.clock.now()).record.id };
}

/** Whether the job or workflow of the last firing has not ended. */
function isUnderWay(store: FakeStore, { firings }: StoredCron): boolean {
  const last = firings.find(({ kind }) => kind !== 'skipped');
  const job = store.job(last?.job_id ?? '');
  const workflow = store.workflows.get(last?.workflow_id ?? '');
  return (job !== undefined && !hasEnded(job.record.status)) || (workflow !== undefined && !workflowEnded(workflow));
}

/** The first instant at which a schedule is due; null if none is. */
export function firstDue(store: FakeStore): number | null {
  const due = [...store.crons.values()].flatMap(({ record }) =>
    record.enabled && record.next_run_at !== null ? [Date.parse(record.next_run_at)] : [],
  );
  return due.length === 0 ? null : Math.min(...due);
}

/** Fires what is due at the clock's instant. */
export function fireDue(store: FakeStore): void {
  for (const cron of store.crons.values()) {
    const { enabled, next_run_at: text } = cron.record;
    if (!enabled || text === null || Date.parse(text) > store.clock.now()) continue;
    fireCron(store, cron, Date.parse(text));
    const next = timesOf(cron.record).next(store.clock.now());
    cron.record = {
      ...cron.record,
      enabled: next !== null,
      next_run_at: next === null ? null : store.clock.text(next),
    };
  }
}
