import type { CreateCron } from '@millrace/contract';
import { givenJobConfig, resolveJobConfig } from '../../domain/job-config.js';
import { rawFields } from '../../domain/raw-json.js';
import type { CronSpec } from '../../domain/records.js';

/** A create request that passed validation, as the engine takes it. `raw` is its source text. */
export function cronSpec(body: CreateCron, raw: string, defaultQueue: string): CronSpec {
  const [payloadText] = body.payload ? rawFields(raw, ['payload']) : [];
  return {
    name: body.name,
    expr: body.cron_expr,
    task: body.task_name,
    queue: body.queue ?? defaultQueue,
    payload: payloadText ?? '{}',
    config: JSON.stringify(givenJobConfig(body.config)),
    jobConfig: resolveJobConfig(body.config),
  };
}
