import { WAITS_QUEUE } from '@millrace/contract';
import { invalidField, MillraceError } from './errors.js';

/** The queue, unless it is the one of waiting steps, on which the service alone creates and takes jobs. */
export function freeQueue(queue: string, path: string): string {
  if (queue === WAITS_QUEUE) throw invalidField(path, 'is reserved for steps that wait for signals');
  return queue;
}

/** The queue of a job that is to be created anew. A waiting step is nothing without its workflow. */
export function unlessWaiting(queue: string): string {
  if (queue !== WAITS_QUEUE) return queue;
  throw new MillraceError('conflict', 'the job is a step that waits for a signal; resume its workflow instead');
}
