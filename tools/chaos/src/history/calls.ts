/**
 * What clients did and were told. A call is written down before it is sent and again when its answer is there, so a process that is killed
 * in between leaves a call without an answer: one that may or may not have happened.
 *
 * Instants are milliseconds of the machine's monotonic clock, which all its processes share and nobody can set.
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
  /** Unique in a run: who made it, and its number there. */
  readonly id: string;
  readonly op: Operation;
  readonly method: string;
  readonly path: string;
  /** The job it names, if it names one. */
  readonly job?: string;
  readonly token?: string;
  readonly queue?: string;
  /** What of the request matters to the replay: the seconds of a lease, whether a failure may be retried. */
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
  /** Null: no answer came (connection lost, deadline passed). */
  readonly status: number | null;
  readonly endedAt: number;
  /** Of a create or a batch that was acknowledged. */
  readonly created?: readonly string[];
  readonly claims?: readonly Claim[];
  /** What a heartbeat or a read told about the job. */
  readonly seen?: { readonly status: string; readonly retries?: number; readonly deliveries?: number };
  readonly lost?: string;
}

export const monotonicMs = (): number => Number(process.hrtime.bigint() / 1_000n) / 1_000;
