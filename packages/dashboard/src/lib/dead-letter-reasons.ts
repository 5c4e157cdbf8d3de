import type { DeadLetterReason } from '@millrace/contract';

/** Why a job failed for good, in words. */
export const REASONS: Readonly<Record<DeadLetterReason, string>> = {
  max_attempts_exceeded: 'no attempts left',
  non_retryable: 'not retryable',
  handler_not_found: 'no such handler',
};
