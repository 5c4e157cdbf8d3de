import type * as Wire from '../../wire/index.js';
import { invalid } from './problem.js';
import { SERVICE_QUEUE, fullConfig, type FakeStore, type StoredJob } from './store.js';
import { checkUnique, inTheWay, replace } from './unique.js';

export interface Added {
  readonly id: string;
  /** One of its unique key was there. */
  readonly existing: boolean;
}

/** `parent`: of a child. */
export function addJob(
  store: FakeStore,
  given: Wire.CreateJob,
  key: string | null,
  parent: string | null = null,
): Added {
  const { run_at: runAt = null, delay_secs: delay = null } = given;
  if (runAt !== null && delay !== null) throw invalid('delay_secs', 'must not be given together with run_at');
  const { expires_secs: expiresSecs = null, expires_at: expiresAt = null } = given.config ?? {};
  if (expiresSecs !== null && expiresAt !== null)
    throw invalid('config.expires_at', 'must not be given together with expires_secs');
  if (expiresAt !== null && runAt !== null && Date.parse(expiresAt) <= Date.parse(runAt))
    throw invalid('config.expires_at', 'must be after run_at');
  if (expiresSecs !== null && expiresSecs <= (delay ?? 0))
    throw invalid('config.expires_secs', 'must be more than delay_secs');
  const dueAt = runAt === null ? store.clock.now() + (delay ?? 0) * 1_000 : Date.parse(runAt);
  const fields = {
    task_name: given.task_name,
    queue_name: given.config?.queue ?? SERVICE_QUEUE,
    payload: given.payload ?? {},
    metadata: given.metadata ?? {},
    idempotency_key: key,
    ...(parent !== null && { parent_job_id: parent }),
  };
  const { unique = null } = given.config ?? {};
  if (unique !== null) checkUnique(unique);
  const other = unique === null ? null : inTheWay(store, fields.queue_name, unique);
  if (other === null) return { id: store.addJob(fields, given.config ?? {}, dueAt).record.id, existing: false };
  const { task_name, payload, metadata } = fields;
  if (unique?.on_conflict === 'replace')
    replace(store, other, { task_name, payload, metadata, config: fullConfig(given.config ?? {}) }, dueAt);
  return { id: other.record.id, existing: true };
}

/** Once per parent and name. */
export function addChildren(store: FakeStore, parent: StoredJob, jobs: readonly Wire.ChildJob[]): string[] {
  return jobs.map(({ name, detached, ...job }) => {
    const known = parent.children.get(name);
    if (known !== undefined) return known.id;
    const { id } = addJob(store, job, null, parent.record.id);
    parent.children.set(name, { id, detached: detached ?? false });
    return id;
  });
}
