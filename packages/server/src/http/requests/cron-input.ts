import type { CreateCron } from '@millrace/contract';
import { givenJobConfig, resolveJobConfig } from '../../domain/job-config.js';
import { rawFields } from '../../domain/raw-json.js';
import type { CronSpec } from '../../domain/records.js';
import { callerText, type InputSettings } from './caller-text.js';

/** A create request that passed validation, as the engine takes it. `raw` is its source text. */
export function cronSpec(body: CreateCron, raw: string, settings: InputSettings): CronSpec {
  const [payloadText] = body.payload ? rawFields(raw, ['payload']) : [];
  return {
    name: body.name,
    expr: body.cron_expr,
    task: body.task_name,
    queue: body.queue ?? settings.defaultQueue,
    payload: callerText(body.payload, payloadText, '{}', 'payload', settings),
    config: JSON.stringify(givenJobConfig(body.config)),
    jobConfig: resolveJobConfig(body.config),
  };
}
