import type { CreateJob, JobConfig } from '@millrace/contract';
import { invalidField } from '../../domain/errors.js';
import { parseInstant } from '../../domain/instant.js';
import { resolveJobConfig } from '../../domain/job-config.js';
import { freeQueue } from '../../domain/reserved-queue.js';
import type { JobSpec } from '../../domain/records.js';
import { callerText, type InputSettings } from './caller-text.js';
import { givenPolicy } from './dev-policy.js';
import { withTrace } from './trace.js';

/** The fields of a create request that belong to the caller and are stored as they were sent. */
export const CALLER_FIELDS = ['payload', 'metadata'] as const;

/**
 * A create request that passed validation, as the engine expects it. `texts` are the source texts of CALLER_FIELDS;
 * `path` says where the job is in the request, for messages.
 */
export function jobSpec(
  body: CreateJob,
  texts: readonly (string | undefined)[],
  settings: InputSettings,
  path = '',
): JobSpec {
  const { payload, metadata, config, run_at: runAt, delay_secs: delaySecs } = body;
  if (typeof runAt === 'string' && typeof delaySecs === 'number')
    throw invalidField(`${path}delay_secs`, 'must not be given together with run_at');
  const [payloadText, metadataText] = texts;
  const policy = resolveJobConfig(givenPolicy(config, settings), `${path}config`);
  checkExpiry(policy, body, path);
  return {
    task: body.task_name,
    queue: freeQueue(config?.queue ?? settings.defaultQueue, `${path}config.queue`),
    payload: callerText(payload, payloadText, '{}', `${path}payload`, settings),
    config: policy,
    runAt: typeof runAt === 'string' ? parseInstant(runAt) : null,
    // No delay at all is what most jobs have, and is stored like it.
    delaySecs: typeof delaySecs === 'number' && delaySecs > 0 ? delaySecs : null,
    metadata: withTrace(callerText(metadata, metadataText, null, `${path}metadata`, settings), settings.trace ?? null),
  };
}

/** A job that must expire before it is due would never run. */
function checkExpiry(
  policy: JobConfig | null,
  { run_at: runAt, delay_secs: delaySecs }: CreateJob,
  path: string,
): void {
  const { expires_secs: secs, expires_at: at } = policy ?? {};
  if (at !== undefined && typeof runAt === 'string' && at <= parseInstant(runAt)!)
    throw invalidField(`${path}config.expires_at`, 'must be after run_at');
  if (secs !== undefined && typeof delaySecs === 'number' && secs <= delaySecs)
    throw invalidField(`${path}config.expires_secs`, 'must be more than delay_secs');
}
