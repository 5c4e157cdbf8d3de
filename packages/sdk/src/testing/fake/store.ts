import type { JsonObject } from '../../json/object.js';
import { uuid7 } from '../../shared/uuid7.js';
import type * as Wire from '../../wire/index.js';
import { FakeClock } from './clock.js';

/** What a job waits for. */
export interface StoredWait extends Wire.WaitingFor {
  /** Whether the job is in this wait, and not in another. */
  open: boolean;
  /** The children that it is for. */
  readonly names?: readonly string[];
}

export interface StoredSignal {
  readonly name: string;
  readonly key: string;
  readonly value: unknown;
  readonly endsAt: number;
}

/** A job and what its record does not show. */
export interface StoredJob {
  record: Wire.Job;
  /** In order of creation. */
  readonly ordinal: number;
  leaseToken: string | null;
  leaseEnds: number;
  dueAt: number;
  /** Retries do not move it. */
  firstDueAt: number;
  /** Its deliveries, the first one first. */
  readonly attempts: Wire.Attempt[];
  /** What its handlers wrote. */
  readonly logs: Wire.LogLine[];
  /** Of a durable job: what it has stored and waited for, by name. */
  readonly checkpoints: Map<string, Wire.Checkpoint>;
  readonly waits: Map<string, StoredWait>;
  /** The jobs that it has created, by name. */
  readonly children: Map<string, { readonly id: string; readonly detached: boolean }>;
}

export interface StoredWorkflow {
  record: Wire.Workflow;
  /** What a resume begins with: the context of the first steps and what earlier resumes put over it. */
  start: JsonObject;
  readonly steps: Map<string, StoredStep>;
}

export interface StoredStep {
  status: Wire.StepStatus;
  jobId: string | null;
  /** The jobs that it had before it was resumed. */
  readonly earlier: string[];
  /** Of a skipped one. */
  skippedBy: 'condition' | 'failure' | null;
  /** Its condition did not hold, and what follows runs. */
  passed: boolean;
}

export interface StoredCron {
  record: Wire.Cron;
  readonly firings: Wire.CronFiring[];
}

/** A worker that has asked for jobs of a queue. */
export interface Asker {
  readonly worker: string;
  readonly slots: number | null;
  readonly tasks: readonly string[] | null;
  readonly at: number;
}

export interface StoredOperation {
  readonly record: Omit<Wire.Operation, 'outcome'>;
  /** The jobs that replays created. */
  readonly replays: readonly string[];
}

/** How the service fills in what a policy leaves out. */
const DEFAULT_CONFIG: Wire.JobConfig = {
  priority: 0,
  max_retries: 3,
  timeout_secs: 300,
  retry_backoff: 'exponential',
  retry_delay_secs: 60,
  retry_max_delay_secs: 3600,
  jitter_factor: 0.1,
};

export const TENANT = 'tenant1';
export const SERVICE_QUEUE = 'default';

/**
 * Everything that a fake server knows. Records are replaced, never changed in place, so that an answer once given stays
 * what it was.
 */
export class FakeStore {
  readonly clock: FakeClock;
  readonly jobs = new Map<string, StoredJob>();
  readonly workflows = new Map<string, StoredWorkflow>();
  readonly crons = new Map<string, StoredCron>();
  readonly deadLetters: Wire.DeadLetter[] = [];
  /** Of rates: what was left in the bucket of a key, and when. */
  readonly tokens = new Map<string, { readonly tokens: number; readonly at: number }>();
  /** The jobs that have ended, in that order. */
  readonly ended: string[] = [];
  readonly operations = new Map<string, StoredOperation>();
  /** Since when queues are paused, and why. */
  readonly paused = new Map<string, { readonly at: string; readonly reason: string | null }>();
  /** Who has asked for jobs, by queue and worker. */
  readonly asked = new Map<string, Map<string, Asker>>();
  /** Those that nobody has taken yet, the oldest first. */
  readonly signals: StoredSignal[] = [];
  /** What a key was used for, and the answer that it got. */
  readonly keys = new Map<string, { readonly kind: string; readonly answer: unknown }>();
  readonly #watchers = new Set<() => void>();

  constructor(start: Date) {
    this.clock = new FakeClock(start);
  }

  newId(): string {
    return uuid7(this.clock.now());
  }

  job(id: string): StoredJob | undefined {
    return this.jobs.get(id);
  }

  /** Puts a job's record forward. */
  change(job: StoredJob, fields: Partial<Wire.Job>): void {
    job.record = { ...job.record, ...fields };
    this.changed();
  }

  addJob(
    fields: Pick<Wire.Job, 'task_name' | 'queue_name' | 'payload' | 'metadata'> & Partial<Wire.Job>,
    config: Wire.JobConfigInput,
    dueAt: number,
  ): StoredJob {
    const now = this.clock.now();
    const record: Wire.Job = {
      id: this.newId(),
      status: 'pending',
      result: null,
      error_message: null,
      retry_count: 0,
      delivery_count: 0,
      created_at: this.clock.text(now),
      scheduled_at: this.clock.text(dueAt),
      started_at: null,
      completed_at: null,
      next_retry_at: null,
      idempotency_key: null,
      workflow_id: null,
      workflow_step_id: null,
      tenant_id: TENANT,
      worker_id: null,
      lease_expires_at: null,
      progress: null,
      ...fields,
      config: fullConfig(config),
    };
    const job: StoredJob = {
      ...{ record, ordinal: this.jobs.size, leaseToken: null, leaseEnds: 0, dueAt, firstDueAt: Math.max(now, dueAt) },
      ...{ attempts: [], logs: [], checkpoints: new Map(), waits: new Map(), children: new Map() },
    };
    this.jobs.set(record.id, job);
    this.changed();
    return job;
  }

  /** Wakes everything that waits for a change, or for the clock. */
  changed(): void {
    for (const wake of [...this.#watchers]) wake();
  }

  /** Calls back after every change until told to stop. */
  watch(wake: () => void): () => void {
    this.#watchers.add(wake);
    return () => this.#watchers.delete(wake);
  }

  /** Waits until the condition holds, the fake clock reaches the deadline, or the caller hangs up. */
  until(holds: () => boolean, deadline: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const check = (): void => {
        if (!signal.aborted && !holds() && this.clock.now() < deadline) return;
        stop();
        signal.removeEventListener('abort', check);
        if (signal.aborted) reject(signal.reason as Error);
        else resolve();
      };
      const stop = this.watch(check);
      signal.addEventListener('abort', check);
      check();
    });
  }
}

export function fullConfig({ timeout, timeout_secs, ...given }: Wire.JobConfigInput): Wire.JobConfig {
  const fields = { ...given, timeout_secs: timeout_secs ?? timeout };
  const present = Object.entries(fields).filter(([, value]) => value !== undefined && value !== null);
  const config = { ...DEFAULT_CONFIG, ...Object.fromEntries(present) } as Wire.JobConfig & { queue?: string };
  delete config.queue;
  return config;
}
