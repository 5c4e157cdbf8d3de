import type * as Wire from '../../wire/index.js';
import { parseCron } from './cron-expression.js';
import { invalid } from './problem.js';
import { DEFAULT_QUEUE, TENANT, type FakeStore, type StoredCron } from './store.js';

/** Creates the schedule of a name or replaces what it says. */
export function putCron(store: FakeStore, name: string, given: Wire.PutCron): { cron: StoredCron; created: boolean } {
  const timezone = given.timezone ?? 'UTC';
  if (timezone.toUpperCase() !== 'UTC')
    throw invalid('timezone', 'is one that FakeServer does not know; use devServer()');
  const timetable = parseCron(given.cron_expr);
  const before = [...store.crons.values()].find((cron) => cron.record.name === name);
  const same = before?.record.cron_expr === given.cron_expr;
  const enabled = before?.record.enabled ?? true;
  const next = timetable.next(store.clock.now());
  const record: Wire.Cron = {
    id: before?.record.id ?? store.newId(),
    name,
    cron_expr: given.cron_expr,
    timezone,
    task_name: given.task_name ?? null,
    workflow: null,
    payload: given.payload ?? {},
    queue_name: given.queue ?? DEFAULT_QUEUE,
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
  const next = enabled ? parseCron(cron.record.cron_expr).next(store.clock.now()) : null;
  cron.record = { ...cron.record, enabled, next_run_at: next === null ? null : store.clock.text(next) };
}

/** The next instants; those it would have if it were resumed now. */
export function nextRuns(store: FakeStore, expression: string, count: number): string[] {
  const timetable = parseCron(expression);
  const runs: string[] = [];
  for (let at: number | null = store.clock.now(); runs.length < count;) {
    at = timetable.next(at);
    if (at === null) break;
    runs.push(store.clock.text(at));
  }
  return runs;
}

export function fireCron(store: FakeStore, cron: StoredCron, occurrence: number | null): string {
  const { id, name, task_name, queue_name, payload, config } = cron.record;
  const now = store.clock.now();
  const due = occurrence ?? now;
  const metadata = { cron_id: id, cron_name: name, ...(occurrence !== null && { cron_due_at: store.clock.text(due) }) };
  const idempotency_key = occurrence === null ? null : `millrace:cron:${id}:${store.clock.text(due)}`;
  const place = { task_name: task_name ?? '', queue_name: queue_name ?? DEFAULT_QUEUE };
  const job = store.addJob({ ...place, payload, metadata, idempotency_key }, config, now);
  const kind = occurrence === null ? 'triggered' : 'on_time';
  cron.firings.unshift({
    occurrence: store.clock.text(due),
    fired_at: store.clock.text(),
    kind,
    job_id: job.record.id,
    workflow_id: null,
  });
  cron.record = { ...cron.record, last_enqueued_at: store.clock.text() };
  return job.record.id;
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
    const { enabled, next_run_at: text, cron_expr: expression } = cron.record;
    if (!enabled || text === null || Date.parse(text) > store.clock.now()) continue;
    fireCron(store, cron, Date.parse(text));
    const next = parseCron(expression).next(store.clock.now());
    cron.record = {
      ...cron.record,
      enabled: next !== null,
      next_run_at: next === null ? null : store.clock.text(next),
    };
  }
}
