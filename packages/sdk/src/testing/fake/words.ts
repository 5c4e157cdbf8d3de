import type * as Wire from '../../wire/index.js';

export const JOB_STATUSES: readonly Wire.JobStatus[] = [
  ...(['pending', 'running', 'retrying', 'completed', 'failed', 'cancelled'] as const),
];
