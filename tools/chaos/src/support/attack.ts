import { besideThread } from './thread.js';

/** Everything one tenant can send that is meant to hurt, or as many requests of the same kinds that are not. */
export interface AttackOrder {
  readonly port: number;
  readonly tenantKey: string;
  readonly workerToken: string;
  readonly hostile: boolean;
  /** How much of it: 1 for all. */
  readonly share: number;
  /** The queue of the other tenant. */
  readonly queue: string;
  /** Nothing but this. */
  readonly costly?: CostlyAttack;
}

/** Requests of one kind, all at once. */
export interface CostlyAttack {
  readonly kind: 'chunked bodies' | 'unread streams' | 'streams';
  readonly count: number;
  /** Whose event stream it is. */
  readonly job: string;
}

/** For each attack: how many requests were sent, and how often each status was answered. */
export type AttackReport = Readonly<Record<string, { sent: number; readonly statuses: Record<number, number> }>>;

/** Starts at once and lasts for as long as `during` runs. */
export const attack = (order: AttackOrder, during: () => Promise<void>): Promise<AttackReport> =>
  besideThread<AttackReport>('attack', order, during);

export const requestsOf = (report: AttackReport): number =>
  Object.values(report).reduce((sum, { sent }) => sum + sent, 0);
