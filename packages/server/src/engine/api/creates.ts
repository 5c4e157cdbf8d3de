import type { JobSpec } from '../../domain/records.js';

/** What a request created. `replayed`: an earlier request with the same idempotency key did, and this one nothing. */
export interface Created {
  readonly id: string;
  readonly replayed: boolean;
  /** Nothing was created: a job of the same unique key was there. */
  readonly existing?: boolean;
  /** The earlier request asked for something else. */
  readonly mismatch?: boolean;
}

/** An idempotency key, and what the request asks for under it (http/requests/digest.ts). */
export interface CreateKey {
  readonly key: string;
  readonly digest: number;
}

export interface CreatedBatch {
  readonly ids: readonly string[];
  readonly replayed: boolean;
  readonly mismatch: boolean;
  /** The positions of jobs that created nothing, because one of the same unique key was there. */
  readonly existing: readonly number[];
}

/** A job of a batch, with a key of its own or none. */
export interface BatchItem {
  readonly spec: JobSpec;
  readonly key: CreateKey | null;
}

export interface CreatedItems {
  /** In the order of the request. */
  readonly ids: readonly string[];
  /** The positions of the items that created nothing, because there was a job of their key. */
  readonly replayed: readonly number[];
  /** One of them asked for something else than what its key was used for. */
  readonly mismatch: boolean;
  /** The same, because there was one of their unique key. */
  readonly existing: readonly number[];
}
