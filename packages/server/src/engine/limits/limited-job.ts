import type { JobSpec } from '../../domain/records.js';

/** A job to create that names limits, expires or is unique. */
export interface LimitedJob {
  readonly tenant: string;
  readonly spec: JobSpec;
  /** Of its id, marked as limited. */
  readonly suffix: string;
  /** Its idempotency key. */
  readonly key: string | null;
  /** Of the request, if it has a key. */
  readonly digest?: number;
}

/**
 * Whether a job is one of them, and carries the mark in its id. A unique one does, whatever it names: what replaces it
 * may have limits.
 */
export const isLimited = (spec: JobSpec): boolean =>
  spec.config !== null && (spec.config.limits !== undefined || expires(spec) || spec.config.unique !== undefined);

export const expires = ({ config }: JobSpec): boolean =>
  config !== null && (config.expires_secs !== undefined || config.expires_at !== undefined);
