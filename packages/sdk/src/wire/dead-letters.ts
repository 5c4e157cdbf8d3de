/** Dead letters, one by one and by kind. */
import type { PageFields } from './common.js';

export type DeadLetterReason = 'max_attempts_exceeded' | 'non_retryable' | 'handler_not_found';

export interface DeadLetter {
  id: number;
  job_id: string;
  queue_name: string;
  task_name: string;
  reason: DeadLetterReason;
  error_message: string | null;
  created_at: string;
  replayed_at: string | null;
  replay_job_id: string | null;
  tenant_id: string;
  payload_bytes: number | null;
  retry_count: number | null;
  fingerprint: string;
}

export interface DeadLetterPage extends PageFields {
  dead_letters: DeadLetter[];
  searched_to?: string;
}

export interface DeadLetterGroup {
  fingerprint: string;
  task_name: string;
  reason: DeadLetterReason;
  message: string | null;
  count: number;
  open: number;
  first_at: string;
  last_at: string;
  latest_id: number;
}

export interface DeadLetterGroups {
  groups: DeadLetterGroup[];
  has_more: boolean;
  next_cursor?: string;
  searched_to?: string;
  warnings?: string[];
}
