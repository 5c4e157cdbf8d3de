import { knownInBothFormats } from '../shared/both-formats.js';
import type { SuspendWait } from '../wire/index.js';

/** What a job is suspended with: the fields of the report. */
export interface Suspension {
  readonly checkpoint: string;
  readonly until?: string;
  readonly delay_secs?: number;
  readonly wait?: SuspendWait;
}

/**
 * Thrown out of a handler when it is to wait: the attempt ends here, and the handler starts again when the wait is
 * over. Let it pass: a handler that catches everything must throw it on.
 */
export class Suspended extends Error {
  override readonly name = 'Suspended';

  constructor(readonly suspension: Suspension) {
    super(`the job waits (${suspension.checkpoint}); let this error pass`);
  }
}

knownInBothFormats({ Suspended });

/** Whether an error is a suspension, or was caused by one. */
export function isSuspended(error: unknown): boolean {
  for (let each = error; each instanceof Error; each = each.cause) if (each instanceof Suspended) return true;
  return false;
}
