/**
 * The limits of the API, under the names that they have in `@millrace/contract`. They are declared again for the reason
 * of the wire types: the SDK depends on nothing. A test compares every one of them with its namesake.
 */
export const NAME_MAX_LENGTH = 255;
export const IDEMPOTENCY_KEY_MAX_LENGTH = NAME_MAX_LENGTH;
export const RESERVED_KEY_PREFIX = 'millrace:';
export const JOB_CONFIG_LIMITS = {
  priority: { minimum: -2_147_483_648, maximum: 2_147_483_647 },
  max_retries: { minimum: 0, maximum: 1000 },
  timeout_secs: { minimum: 1, maximum: 86_400 },
  retry_delay_secs: { minimum: 0, maximum: 2_592_000 },
  retry_max_delay_secs: { minimum: 0, maximum: 2_592_000 },
  jitter_factor: { minimum: 0, maximum: 1 },
} as const;
export const EXPIRES_LIMITS = { minimum: 1, maximum: 31_536_000 } as const;
export const LIMIT_KEY_LENGTH = { minLength: 1, maxLength: 200 } as const;
export const LIMIT_RUNNING = { minimum: 1, maximum: 10_000 } as const;
export const RATE_LIMITS = {
  count: { minimum: 1, maximum: 100_000 },
  per_secs: { minimum: 1, maximum: 86_400 },
  burst: { minimum: 1, maximum: 100_000, default: 1 },
} as const;
export const MAX_WAIT_LIMITS = { minimum: 1, maximum: 31_536_000 } as const;
export const RETRY_AFTER_LIMITS = JOB_CONFIG_LIMITS.retry_delay_secs;
export const DELAY_LIMITS = { minimum: 0, maximum: 31_536_000 } as const;
export const BATCH_LIMITS = { minimum: 1, maximum: 1000 } as const;
export const WAIT_JOBS_LIMITS = { minimum: 1, maximum: 1000 } as const;
export const LEASE_BATCH_LIMITS = { minimum: 1, maximum: 1000 } as const;
export const WORKFLOW_STEP_LIMITS = { minimum: 1, maximum: 1000 } as const;
export const LEASE_MAX_TASKS = 200;
export const LEASE_LIMITS = {
  max_jobs: { minimum: 1, maximum: 100, default: 1 },
  lease_secs: { minimum: 1, maximum: 3600, default: 30 },
  wait_secs: { minimum: 0, maximum: 30, default: 0 },
  extend_secs: { minimum: 1, maximum: 3600, default: 30 },
  slots: { minimum: 1, maximum: 10_000, default: 1 },
} as const;
export const WAIT_LIMITS = { minimum: 0, maximum: 30, default: 0 } as const;
export const PAGE_LIMITS = { minimum: 1, maximum: 100, default: 50 } as const;
export const ENDED_LIMITS = { minimum: 1, maximum: 1000, default: 100 } as const;
export const NEXT_RUNS_LIMITS = { minimum: 1, maximum: 100, default: 10 } as const;
/** How many rows a walk over waiting jobs reads before it says so and stops. */
export const WALK_LIMIT = 20_000;
export const OPERATION_IDS_LIMITS = { minimum: 1, maximum: 1000 } as const;
export const WAITS_QUEUE = 'millrace:waits';
export const PROGRESS_MAX_BYTES = 16_384;
export const LOG_LINES_PER_CALL = 100;
export const LOG_MESSAGE_MAX_BYTES = 8_192;
export const LOG_FIELDS_MAX_BYTES = 4_096;
export const LOG_ATTEMPT_BYTES = 65_536;
export const LOG_LINE_BYTES = 32;
export const LOG_ATTEMPTS_KEPT = { first: 10, last: 10 } as const;
export const LOG_PAGE_LINES = 1_000;
export const CHECKPOINT_NAME_MAX_LENGTH = 200;
export const KEPT_NAMES_MAX = 1_000;
export const ASK_MAX_BYTES = 16_384;
export const SIGNAL_MAX_BYTES = 65_536;
export const SIGNAL_TTL_LIMITS = { minimum: 1, maximum: 2_592_000, default: 604_800 } as const;
export const DEFAULT_MAX_PAYLOAD_BYTES = 4_194_304;
export const DEFAULT_MAX_BODY_BYTES = 16_777_216;
export const JSON_MAX_DEPTH = 1000;
