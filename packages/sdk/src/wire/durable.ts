/** Durable jobs: checkpoints, suspensions and signals. */
import type { NewLogLine } from './logs.js';

export interface CheckpointRequest {
  lease_token: string;
  name: string;
  value: unknown;
}

export interface StoredCheckpoint {
  name: string;
  value: unknown;
}

export interface Checkpoint {
  name: string;
  value: unknown;
  at: string;
  attempt: number;
}

export interface Checkpoints {
  checkpoints: Checkpoint[];
  waits: { name: string; until: string }[];
}

/** Which checkpoints a copy of a job begins with. */
export interface ReplayRequest {
  keep_checkpoints?: boolean | string[] | null;
}

export interface Ask {
  text: string;
  choices?: { label: string; value: unknown }[] | null;
}

export interface SuspendWait {
  readonly signal?: { readonly name: string; readonly key?: string | null };
  readonly ask?: Ask | null;
  readonly children?: readonly string[];
}

export interface SuspendRequest {
  lease_token: string;
  checkpoint: string;
  until?: string | null;
  wait?: SuspendWait | null;
  delay_secs?: number | null;
  logs?: NewLogLine[] | null;
}

export interface WaitingFor {
  checkpoint: string;
  since: string;
  until: string;
  signal: string | null;
  key: string | null;
  ask: Ask | null;
  children: { total: number; unfinished: number } | null;
}

export interface SignalRequest {
  name: string;
  key: string;
  value?: unknown;
  ttl_secs?: number | null;
}

export interface JobSignalRequest {
  value?: unknown;
}

export interface SignalAccepted {
  delivered: boolean;
  warnings?: string[];
}

export interface Wait {
  job_id: string;
  task_name: string;
  name: string;
  key: string;
  ask: Ask | null;
  since: string;
  until: string;
  workflow_id: string | null;
  workflow_step_id: string | null;
}

export interface Waits {
  waits: Wait[];
  has_more: boolean;
  next_cursor?: string;
  warnings?: string[];
}
