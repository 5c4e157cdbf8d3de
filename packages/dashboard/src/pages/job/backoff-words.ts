import type { JobConfig } from '@millrace/contract';
import { duration } from '../../lib/format.js';

/** How long it waits before it is tried again: "exponential, 5 s to 1 h, ±10%". */
export function backoffWords({
  retry_backoff,
  retry_delay_secs: delay,
  retry_max_delay_secs: most,
  jitter_factor: jitter,
}: Pick<JobConfig, 'retry_backoff' | 'retry_delay_secs' | 'retry_max_delay_secs' | 'jitter_factor'>): string {
  const first = duration(Math.min(delay, most) * 1000);
  const isEven = retry_backoff === 'fixed' || delay >= most;
  const lengths = isEven ? first : `${first} to ${duration(most * 1000)}`;
  const spread = jitter === 0 ? '' : `, ±${Math.round(jitter * 100)}%`;
  return `${retry_backoff}, ${lengths}${spread}`;
}
