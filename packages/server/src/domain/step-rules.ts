import { DEFAULT_JOB_CONFIG, JOB_CONFIG_LIMITS, WAIT_TASK, WAITS_QUEUE, type JobConfig } from '@millrace/contract';
import { readCondition } from './conditions.js';
import type { JsonText } from './records.js';
import type { StepSpec, StepWaitSpec, StepWhen } from './workflow-records.js';

/** What conditions and waits make of the steps that have them. */

/** A condition that has been checked, from its text. */
export const stepWhen = (text: JsonText): StepWhen => ({ ...readCondition(text), text });

/** A waiting job is lost only with the process that was about to end it, and is then taken by another. */
const WAIT_CONFIG: JobConfig = {
  ...DEFAULT_JOB_CONFIG,
  max_retries: JOB_CONFIG_LIMITS.max_retries.maximum,
  retry_backoff: 'fixed',
  retry_delay_secs: 1,
};

/** What makes a step one that waits. */
export const waitingStep = (
  wait: StepWaitSpec,
): Pick<StepSpec, 'task' | 'queue' | 'payload' | 'config' | 'jobConfig' | 'wait'> => ({
  task: WAIT_TASK,
  queue: WAITS_QUEUE,
  payload: '{}',
  config: '{}',
  jobConfig: WAIT_CONFIG,
  wait,
});
