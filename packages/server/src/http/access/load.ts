/**
 * How a request is treated under overload (see admission.ts). new: shed first. vital: shed last. waiting: admitted like
 * new work, but takes up nothing once it waits for something to happen.
 */
export type Load = 'new' | 'vital' | 'waiting';

/** What an accepted request takes up. */
export interface Admitted {
  /** Pays for that much of a body, unless it has already paid for more. False: there is no room for it. */
  hold(bodyBytes: number): boolean;
  /** Calling it again changes nothing. */
  release(): void;
}
