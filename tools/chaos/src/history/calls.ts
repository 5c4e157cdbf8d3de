/**
 * What clients did and were told. A call is recorded before it is sent and its answer when it arrives, so a process
 * killed in between leaves a call without an answer: one that may or may not have taken effect.
 *
 * All times are in milliseconds of the machine's monotonic clock, which its processes share and nobody can set.
 */
export const OPERATIONS = [
  'create',
  'batch',
  'lease',
  'heartbeat',
  'complete',
  'fail',
  'cancel',
  'get',
  'other',
] as const;
export type Operation = (typeof OPERATIONS)[number];

export interface Call {
  /** Unique in a run: the client's name and the number of the call. */
  readonly id: string;
  readonly op: Operation;
  readonly method: string;
  readonly path: string;
  /** The job it names, if it names one. */
  readonly job?: string;
  readonly token?: string;
  readonly queue?: string;
  /** What the replay needs of the request: the seconds of a lease, whether a failure may be retried. */
  readonly secs?: number;
  readonly retryable?: boolean;
  readonly startedAt: number;
}

export interface Claim {
  readonly job: string;
  readonly token: string;
  readonly retries: number;
  readonly deliveries: number;
}

export interface Answer {
  readonly id: string;
  /** Null if there was no answer (connection lost, deadline passed). */
  readonly status: number | null;
  readonly endedAt: number;
  /** The ids of an acknowledged create or batch. */
  readonly created?: readonly string[];
  readonly claims?: readonly Claim[];
  /** What a heartbeat or a read said about the job. */
  readonly seen?: { readonly status: string; readonly retries?: number; readonly deliveries?: number };
  readonly lost?: string;
}
