import type { JsonObject } from '../../json/object.js';
import type { RunningJob } from '../../task/types.js';
import type { Job } from '../../wire/index.js';
import { rawPayload } from './raw-payload.js';

/** A job as its handler sees it. */
export class ClaimedJob implements RunningJob {
  readonly id: string;
  readonly task: string;
  readonly queue: string;
  readonly tenant: string;
  readonly attempt: number;
  readonly retryCount: number;
  readonly metadata: JsonObject;
  readonly workflow: { readonly id: string; readonly step: string } | null;
  readonly #answer: string;
  readonly #index: number;

  /** `answer`: the text of the whole answer that brought it, and its place among the jobs there. */
  constructor(job: Job, answer: string, index: number) {
    this.id = job.id;
    this.task = job.task_name;
    this.queue = job.queue_name;
    this.tenant = job.tenant_id;
    this.attempt = job.delivery_count;
    this.retryCount = job.retry_count;
    this.metadata = job.metadata;
    this.workflow = job.workflow_id === null ? null : { id: job.workflow_id, step: job.workflow_step_id ?? '' };
    this.#answer = answer;
    this.#index = index;
  }

  /** Few handlers ask for it, and finding it means reading the answer again. */
  get payloadText(): string {
    return rawPayload(this.#answer, this.#index);
  }
}
