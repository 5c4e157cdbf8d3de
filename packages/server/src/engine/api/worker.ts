import type { JobStatus } from '@millrace/contract';
import type { MillraceError } from '../../domain/errors.js';
import type { LogLine } from '../../domain/log-lines.js';
import type { ChildSpec, JsonText, LeasedJob, Suspension } from '../../domain/records.js';

/** What the layers above see of the protocol of remote workers. */
export interface WorkerApi {
  /** If the signal fires before the answer, nothing stays claimed. */
  lease(request: LeaseRequest, signal: AbortSignal): Promise<readonly LeasedJob[]>;
  heartbeat(beat: Heartbeat): Promise<JobStatus>;
  /** Each as by itself; of two for one job, the first goes first. */
  heartbeats(beats: readonly Heartbeat[]): Promise<readonly (JobStatus | MillraceError)[]>;
  complete(id: string, token: string, result: JsonText, logs?: NewLogs): Promise<void>;
  fail(id: string, token: string, error: string, retryable: boolean, more?: FailureReport): Promise<void>;
  /** Back to its queue, due at once or so many seconds from now. */
  release(id: string, token: string, delaySecs: number | null, logs?: NewLogs): Promise<void>;
  /** Keeps a value under a name, once per job and name. */
  checkpoint(id: string, token: string, name: string, value: JsonText): Promise<StandingCheckpoint>;
  /** Creates jobs of the same tenant, once per parent and name; the ids in their order. Their names differ. */
  children(id: string, token: string, children: readonly ChildSpec[]): Promise<readonly string[]>;
  /** Back to its queue, due at an instant, or when a signal comes or children have ended. */
  suspend(id: string, token: string, suspension: Suspension, logs?: NewLogs): Promise<void>;
  /** Each as by itself; of two for one job, the first goes first. Null: accepted. */
  report(reports: readonly JobReport[]): Promise<readonly (MillraceError | null)[]>;
  /**
   * The queue of each job, by its id in lower case; ids that name no job are left out. Where the database of a job does
   * not answer, that is what is found.
   */
  queuesOf(ids: readonly string[]): Promise<ReadonlyMap<string, string | MillraceError>>;
}

/** What the attempt has written since it last reported; null: nothing. */
export type NewLogs = readonly LogLine[] | null;

/** What stands under the name of a checkpoint. */
export interface StandingCheckpoint {
  readonly value: JsonText;
  /** False: an earlier call put it there. */
  readonly isNew: boolean;
}

/** What a worker may say about a failure beyond its error. */
export interface FailureReport {
  /** Instead of the computed delay. */
  readonly retryAfterSecs?: number | null;
  /** Name and stack. */
  readonly details?: JsonText | null;
  readonly logs?: NewLogs;
}

export interface Heartbeat {
  readonly id: string;
  readonly token: string;
  readonly extendSecs: number;
  readonly progress: JsonText | null;
  readonly logs: NewLogs;
}

export type JobReport = { readonly id: string; readonly token: string; readonly logs: NewLogs } & (
  | { readonly outcome: 'completed'; readonly result: JsonText }
  | ({ readonly outcome: 'failed'; readonly error: string; readonly retryable: boolean } & FailureReport)
  | { readonly outcome: 'released'; readonly delaySecs: number | null }
  | { readonly outcome: 'suspended'; readonly suspension: Suspension }
);

export interface LeaseRequest {
  readonly queue: string;
  readonly maxJobs: number;
  readonly leaseSecs: number;
  readonly waitSecs: number;
  /** What the worker calls itself. */
  readonly workerId: string | null;
  /** How many jobs it can hold at a time; null: it does not say. */
  readonly slots: number | null;
  /** The tasks that it knows; null: it does not say. */
  readonly tasks: readonly string[] | null;
}
