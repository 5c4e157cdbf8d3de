import { DEFAULT_JOB_CONFIG, type JobConfig } from '@millrace/contract';
import { composePayload, parsePayload } from '../../domain/context.js';
import { createdAtOf, createdMsOf } from '../../domain/ids.js';
import { toInstant } from '../../store/rows.js';
import type { Instant, JobRecord, JsonText } from '../../domain/records.js';

/** Fields that most jobs do not have, named as in the answer to a claim. */
export interface OptionalFields {
  /** The job's number in the answer, from 1. */
  readonly n: number;
  readonly metadata: JsonText | null;
  readonly retry_count: number;
  readonly delivery_count: number;
  /** Null: the same as created_at. */
  readonly scheduled_at: string | null;
  readonly error: string | null;
  readonly idempotency_key: string | null;
  readonly workflow_id: string | null;
  readonly step: string | null;
  /** The version of its workflow's context that goes with the payload. */
  readonly context: number | null;
}

/** Who a job was claimed for, and for how long. */
export interface Holder {
  readonly workerId: string | null;
  readonly leaseSecs: number;
}

const NO_OPTIONAL_FIELDS: OptionalFields = {
  n: 0,
  metadata: null,
  retry_count: 0,
  delivery_count: 1,
  scheduled_at: null,
  error: null,
  idempotency_key: null,
  workflow_id: null,
  step: null,
  context: null,
};

/**
 * A job as a claim returns it. Thousands pass through here per second, and few are ever asked for more than their
 * payload.
 */
export class ClaimedJob implements JobRecord {
  readonly status = 'running';
  readonly result = null;
  readonly completed_at = null;
  readonly next_retry_at = null;
  readonly progress = null;

  constructor(
    readonly id: string,
    readonly tenant_id: string,
    readonly queue_name: string,
    readonly task_name: string,
    private readonly ownPayload: JsonText,
    readonly started_at: Instant,
    private readonly holder: Holder,
    readonly config: JobConfig = DEFAULT_JOB_CONFIG,
    private readonly optional: OptionalFields = NO_OPTIONAL_FIELDS,
    /** Shared with the other steps of this claim that receive the same context. */
    private readonly context: JsonText | null = null,
  ) {}

  get payload(): JsonText {
    return this.context === null ? this.ownPayload : composePayload(this.ownPayload, this.context);
  }

  /** For a handler. Each call makes a new one, because handlers may change theirs. */
  parsePayload(): Record<string, unknown> {
    return parsePayload(this.ownPayload, this.context);
  }

  get metadata(): JsonText {
    return this.optional.metadata ?? '{}';
  }

  get retry_count(): number {
    return this.optional.retry_count;
  }

  get delivery_count(): number {
    return this.optional.delivery_count;
  }

  get created_at(): Instant {
    return createdAtOf(this.id);
  }

  get scheduled_at(): Instant {
    const { scheduled_at: at } = this.optional;
    return at === null ? this.created_at : toInstant(at);
  }

  get scheduledMs(): number {
    const { scheduled_at: at } = this.optional;
    return at === null ? createdMsOf(this.id) : Date.parse(toInstant(at));
  }

  /** Since when it could be claimed: a job may be created with an instant that has passed. */
  get dueMs(): number {
    const createdMs = createdMsOf(this.id);
    return this.optional.scheduled_at === null ? createdMs : Math.max(createdMs, this.scheduledMs);
  }

  get error_message(): string | null {
    return this.optional.error;
  }

  get idempotency_key(): string | null {
    return this.optional.idempotency_key;
  }

  get workflow_id(): string | null {
    return this.optional.workflow_id;
  }

  get workflow_step_id(): string | null {
    return this.optional.step;
  }

  get worker_id(): string | null {
    return this.holder.workerId;
  }

  /** As the claim made it: whole seconds after its own instant. */
  get lease_expires_at(): Instant {
    const { started_at: from, holder } = this;
    if (from !== lastDeadline.from || holder.leaseSecs !== lastDeadline.secs)
      lastDeadline = { from, secs: holder.leaseSecs, text: later(from, holder.leaseSecs) };
    return lastDeadline.text;
  }
}

/** The jobs of one claim mostly share it. */
let lastDeadline = { from: '', secs: 0, text: '' };

function later(instant: Instant, secs: number): Instant {
  const ms = Date.parse(`${instant.slice(0, 19)}Z`) + secs * 1000;
  return new Date(ms).toISOString().slice(0, 19) + instant.slice(19);
}
