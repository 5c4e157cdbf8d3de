import { besideThread } from './thread.js';

/** More callers than a service has room for, all creating jobs on one queue that nobody works on. */
export interface FloodOrder {
  readonly port: number;
  readonly token: string;
  readonly queue: string;
  readonly callers: number;
  /** How many of them send bodies of `largeBytes`. */
  readonly large: number;
  readonly largeBytes: number;
}

export interface FloodReport {
  /** How long each accepted request took. */
  readonly acceptedMs: number[];
  readonly ids: string[];
  refused: number;
  /** Refusals without Retry-After, or not in the documented form. */
  malformedRefusals: number;
  /** How often each other status was answered. */
  readonly otherStatuses: Record<number, number>;
  /** Connections that ended before the flood did. */
  cutOff: number;
}

/** Starts at once and lasts for as long as `during` runs. */
export const flood = (order: FloodOrder, during: () => Promise<void>): Promise<FloodReport> =>
  besideThread<FloodReport>('flood', order, during);
