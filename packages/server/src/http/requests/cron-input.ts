import { DEFAULT_TIME_ZONE, NAME_MAX_LENGTH, type CreateCron, type PutCron } from '@millrace/contract';
import { invalidField } from '../../domain/errors.js';
import { givenJobConfig, resolveJobConfig } from '../../domain/job-config.js';
import { rawFields } from '../../domain/raw-json.js';
import type { CronSpec } from '../../domain/records.js';
import { characterCount, isStorableText } from '../../domain/text.js';
import { callerText, type InputSettings } from './caller-text.js';

/** A create request that passed validation, as the engine expects it. `raw` is its source text. */
export function cronSpec(body: CreateCron, raw: string, settings: InputSettings): CronSpec {
  const [payloadText] = body.payload ? rawFields(raw, ['payload']) : [];
  return {
    name: body.name,
    expr: body.cron_expr,
    timezone: body.timezone ?? DEFAULT_TIME_ZONE,
    task: body.task_name,
    queue: body.queue ?? settings.defaultQueue,
    payload: callerText(body.payload, payloadText, '{}', 'payload', settings),
    config: JSON.stringify(givenJobConfig(body.config)),
    jobConfig: resolveJobConfig(body.config, 'config', 'schedule'),
  };
}

/** The same for a request that names the schedule in its path. */
export function putCronSpec(name: string, body: PutCron, raw: string, settings: InputSettings): CronSpec {
  if (name.trim() === '') throw invalidField('name', 'must not be blank');
  if (!isStorableText(name)) throw invalidField('name', 'must not contain NUL characters or lone surrogates');
  if (characterCount(name) > NAME_MAX_LENGTH)
    throw invalidField('name', `must have at most ${NAME_MAX_LENGTH} characters`);
  if (typeof body.name === 'string' && body.name !== name) {
    throw invalidField('name', 'must be the one in the path, or be left out');
  }
  return cronSpec({ ...body, name }, raw, settings);
}
