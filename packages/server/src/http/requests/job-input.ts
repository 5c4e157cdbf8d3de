import { IDEMPOTENCY_KEY_MAX_LENGTH, RESERVED_KEY_PREFIX, type CreateJob } from '@millrace/contract';
import { invalidField } from '../../domain/errors.js';
import { parseInstant } from '../../domain/instant.js';
import { resolveJobConfig } from '../../domain/job-config.js';
import type { JobSpec } from '../../domain/records.js';
import { characterCount } from '../../domain/text.js';
import { headerText } from './headers.js';
import { callerText, type InputSettings } from './caller-text.js';

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
  const { payload, metadata, config, run_at: runAt } = body;
  const [payloadText, metadataText] = texts;
  return {
    task: body.task_name,
    queue: config?.queue ?? settings.defaultQueue,
    payload: callerText(payload, payloadText, '{}', `${path}payload`, settings),
    config: resolveJobConfig(config, `${path}config`),
    runAt: typeof runAt === 'string' ? parseInstant(runAt) : null,
    metadata: callerText(metadata, metadataText, null, `${path}metadata`, settings),
  };
}

/** The client's idempotency key, or null. It is never a list: a repeated header has already been refused. */
export function idempotencyKey(header: string | string[] | undefined): string | null {
  const key = headerText('Idempotency-Key', String(header ?? '')).trim();
  if (key === '') return null;
  if (characterCount(key) > IDEMPOTENCY_KEY_MAX_LENGTH) {
    throw invalidField('Idempotency-Key', `must have at most ${IDEMPOTENCY_KEY_MAX_LENGTH} characters`);
  }
  if (key.startsWith(RESERVED_KEY_PREFIX))
    throw invalidField('Idempotency-Key', `must not begin with ${RESERVED_KEY_PREFIX}`);
  return key;
}
