import { membersOf, objectOf } from './slice.js';

/** Metadata that the service adds; a copy gets its own. */
const ADDED = ['rerun_of', 'replayed_from_job', 'replayed_from_dead_letter', 'cron_due_at'];

/**
 * The request that creates the same job, put together from the raw text of its record: payload and metadata go out as
 * they came in, to the byte.
 */
export function createTextOf(record: string): string {
  const job = membersOf(record);
  const config = membersOf(job.get('config') ?? '{}');
  const queue = job.get('queue_name');
  const metadata = membersOf(job.get('metadata') ?? '{}');
  for (const name of ADDED) metadata.delete(name);
  return objectOf({
    task_name: job.get('task_name'),
    payload: withoutContext(job.get('payload') ?? '{}'),
    config: objectOf({ queue, ...Object.fromEntries(config) }),
    metadata: metadata.size === 0 ? undefined : metadataText(job.get('metadata') ?? '{}', metadata),
  });
}

/** Unchanged unless something had to be taken out. */
const metadataText = (text: string, kept: ReadonlyMap<string, string>): string =>
  kept.size === membersOf(text).size ? text : objectOf(Object.fromEntries(kept));

/** A workflow step's payload carries the context of the workflow beside what was sent. */
function withoutContext(payload: string): string {
  const members = membersOf(payload);
  return members.delete('_context') ? objectOf(Object.fromEntries(members)) : payload;
}
