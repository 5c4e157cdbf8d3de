import { DEFAULT_JOB_CONFIG, type JobConfig } from '@millrace/contract';
import { composePayload } from '../../domain/context.js';
import { createdAtOf, createdMsOf } from '../../domain/ids.js';
import { toInstant } from '../../store/rows.js';
import type { Instant, JobRecord, JsonText } from '../../domain/records.js';

/** What most jobs have none of. `n` is the job's number in the answer of a claim, from 1. */
export type OptionalFields = readonly [
  n: number,
  config: JobConfig | null,
  metadata: JsonText | null,
  retryCount: number,
  deliveryCount: number,
  /** Null: as it was created. */
  scheduledAt: string | null,
  error: string | null,
  key: string | null,
  workflowId: string | null,
  step: string | null,
  /** The version of its workflow's context that goes with the payload. */
  context: number | null,
];

const NO_OPTIONAL_FIELDS: OptionalFields = [0, null, null, 0, 1, null, null, null, null, null, null];

/** A job as a claim brings it. Thousands a second pass through here, and few are ever asked for more than their payload. */
export class ClaimedJob implements JobRecord {
  readonly status = 'running';
  readonly result = null;
  readonly completed_at = null;
  readonly next_retry_at = null;

  constructor(
    readonly id: string,
    readonly tenant_id: string,
    readonly queue_name: string,
    readonly task_name: string,
    private readonly ownPayload: JsonText,
    readonly started_at: Instant,
    private readonly optionalFields: OptionalFields = NO_OPTIONAL_FIELDS,
    /** Shared with the other steps of this claim that receive the same. */
    private readonly context: JsonText | null = null,
  ) {}

  get payload(): JsonText {
    return this.context === null ? this.ownPayload : composePayload(this.ownPayload, this.context);
  }

  get config(): JobConfig {
    return this.optionalFields[1] ?? DEFAULT_JOB_CONFIG;
  }

  get metadata(): JsonText {
    return this.optionalFields[2] ?? '{}';
  }

  get retry_count(): number {
    return this.optionalFields[3];
  }

  get delivery_count(): number {
    return this.optionalFields[4];
  }

  get created_at(): Instant {
    return createdAtOf(this.id);
  }

  get scheduled_at(): Instant {
    const at = this.optionalFields[5];
    return at === null ? this.created_at : toInstant(at);
  }

  get scheduledMs(): number {
    const at = this.optionalFields[5];
    return at === null ? createdMsOf(this.id) : Date.parse(toInstant(at));
  }

  get error_message(): string | null {
    return this.optionalFields[6];
  }

  get idempotency_key(): string | null {
    return this.optionalFields[7];
  }

  get workflow_id(): string | null {
    return this.optionalFields[8];
  }

  get workflow_step_id(): string | null {
    return this.optionalFields[9];
  }
}
