import {
  DEFAULT_TIME_ZONE,
  NAME_MAX_LENGTH,
  type CreateCron,
  type PutCron,
  type ScheduledWorkflow,
} from '@millrace/contract';
import { invalidField } from '../../domain/errors.js';
import { givenJobConfig, resolveJobConfig } from '../../domain/job-config.js';
import { fieldsOfItems, rawFields } from '../../domain/raw-json.js';
import { freeQueue } from '../../domain/reserved-queue.js';
import type { CronSpec } from '../../domain/cron-records.js';
import type { WorkflowSpec } from '../../domain/workflow-records.js';
import { characterCount, isStorableText } from '../../domain/text.js';
import { callerText, type InputSettings } from './caller-text.js';
import { givenPolicy } from './dev-policy.js';
import type { LoopTurns } from '../turns.js';
import { STEP_FIELDS, workflowSpec } from './workflow-input.js';

interface CronSettings extends InputSettings {
  readonly turns: LoopTurns;
}

/** A create request that passed validation, as the engine expects it. `raw` is its source text. */
export async function cronSpec(body: CreateCron, raw: string, settings: CronSettings): Promise<CronSpec> {
  const timetable = {
    name: body.name,
    expr: body.cron_expr,
    timezone: body.timezone ?? DEFAULT_TIME_ZONE,
    overlap: body.overlap ?? 'allow',
  };
  if (body.workflow) return { ...timetable, ...NO_JOB, workflow: await startedBy(body, body.workflow, raw, settings) };
  if (!body.task_name) throw invalidField('task_name', 'is required, unless the schedule has a workflow');
  const [payloadText] = body.payload ? rawFields(raw, ['payload']) : [];
  const policy = givenPolicy(body.config, settings);
  return {
    ...timetable,
    task: body.task_name,
    queue: freeQueue(body.queue ?? settings.defaultQueue, 'queue'),
    payload: callerText(body.payload, payloadText, '{}', 'payload', settings),
    config: JSON.stringify(givenJobConfig(policy)),
    jobConfig: resolveJobConfig(policy, 'config', 'schedule'),
    workflow: null,
  };
}

/** What a schedule that starts workflows says about jobs. */
const NO_JOB = { task: null, queue: null, payload: '{}', config: '{}', jobConfig: null } as const;
const OF_JOBS = ['task_name', 'payload', 'queue', 'config'] as const;

/** It is stored as a whole, and read as a whole whenever it fires: so it is bounded as a whole. */
async function startedBy(
  body: CreateCron,
  workflow: ScheduledWorkflow,
  raw: string,
  settings: CronSettings,
): Promise<WorkflowSpec> {
  const beside = OF_JOBS.find((field) => (body[field] ?? null) !== null);
  if (beside !== undefined) throw invalidField(beside, 'must be left out: the schedule has a workflow');
  const [given] = rawFields(raw, ['workflow']);
  const text = callerText(workflow, given, '{}', 'workflow', settings);
  const texts = await settings.turns.over(text, fieldsOfItems(text, 'steps', STEP_FIELDS));
  return workflowSpec(workflow, text, texts, settings, 'workflow.');
}

/** The same for a request that names the schedule in its path. */
export async function putCronSpec(name: string, body: PutCron, raw: string, settings: CronSettings): Promise<CronSpec> {
  if (name.trim() === '') throw invalidField('name', 'must not be blank');
  if (!isStorableText(name)) throw invalidField('name', 'must not contain NUL characters or lone surrogates');
  if (characterCount(name) > NAME_MAX_LENGTH)
    throw invalidField('name', `must have at most ${NAME_MAX_LENGTH} characters`);
  if (typeof body.name === 'string' && body.name !== name) {
    throw invalidField('name', 'must be the one in the path, or be left out');
  }
  return cronSpec({ ...body, name }, raw, settings);
}
