import type { Address } from './address.js';

/** What a queue, a tenant or a task holds, as the server counts it: by whether it is due, with retries among both. */
export interface Held {
  readonly pending: number;
  readonly scheduled: number;
  readonly retrying: number;
  /** Of `retrying`, those among `scheduled`. Servers of earlier versions do not say. */
  readonly retrying_later?: number;
  readonly running: number;
}

/** The states that unfinished jobs are in, in the order in which they are shown. */
export const HELD_STATES = ['waiting', 'scheduled', 'retrying', 'running'] as const;
export type HeldState = (typeof HELD_STATES)[number];
export type ByState = Readonly<Record<HeldState, number>>;

/** The same by the states of jobs: each job in one of them, so that they add up. */
export function byState({ pending, scheduled, retrying, retrying_later, running }: Held): ByState {
  const later = retrying_later ?? Math.max(0, retrying - pending);
  return { waiting: pending - (retrying - later), scheduled: scheduled - later, retrying, running };
}

export const sizeOf = ({ pending, scheduled, running }: Held): number => pending + scheduled + running;

/** What the API calls them: a job that waits is `pending`, and due or not. */
const QUERIES: Readonly<Record<string, Address>> = {
  waiting: { status: 'pending', due: 'true' },
  scheduled: { status: 'pending', due: 'false' },
};

/** The parameters of the list of jobs for a state of the address, or several. */
export const stateQuery = (status: string | undefined): Address => QUERIES[status ?? ''] ?? { status };
