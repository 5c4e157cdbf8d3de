import type { GrowthScale } from './cases/growth/axes.js';

/** How much work a run does: the only difference between a full run and a quick one. */
export interface Scale {
  readonly form: 'full' | 'quick';
  readonly rounds: number;
  /** Rounds of the cases whose preparation alone takes minutes. */
  readonly heavyRounds: number;
  /** How many jobs each contender gets: just enough to keep it busy for a few seconds. */
  readonly jobs: {
    readonly millrace: number;
    readonly raw: number;
    readonly graphilePlain: number;
    readonly graphileTuned: number;
    readonly pgBoss: number;
    readonly river: number;
    readonly bullmq: number;
    readonly remote: number;
    readonly remoteBatched: number;
    readonly workflows: number;
    readonly wal: number;
    /** With limits by key, or on a queue that tenants share. */
    readonly limits: number;
    /** Those of another tenant, while a newcomer's are to be run. */
    readonly neighbour: number;
    readonly snapshot: number;
    /** Drained with and without a history. */
    readonly history: number;
    /** Finished jobs in the table when lists and drains are measured. */
    readonly historySome: number;
    readonly historyMany: number;
  };
  readonly growth: GrowthScale;
  /** How long a rate over HTTP is measured. */
  readonly windowMs: number;
  readonly warmupMs: number;
  readonly latencySamples: number;
  readonly streams: number;
  /** Requests for each kind of page. */
  readonly pages: number;
  readonly idleSecs: number;
  /** Jobs that sleep or wait while an idle server is measured. */
  readonly waiting: number;
  /** Keys with limits that an idle server knows. */
  readonly keys: number;
}

export const FULL: Scale = {
  form: 'full',
  rounds: 5,
  heavyRounds: 5,
  jobs: {
    millrace: 200_000,
    raw: 200_000,
    graphilePlain: 10_000,
    graphileTuned: 100_000,
    pgBoss: 50_000,
    river: 100_000,
    bullmq: 40_000,
    remote: 60_000,
    remoteBatched: 300_000,
    workflows: 8_000,
    wal: 100_000,
    limits: 50_000,
    neighbour: 100_000,
    snapshot: 500_000,
    history: 200_000,
    historySome: 1_000_000,
    historyMany: 5_000_000,
  },
  growth: {
    steps: ['few', 'some', 'many'],
    many: {
      tenants: 100_000,
      'active-tenants': 100_000,
      queues: 10_000,
      priorities: 100_000,
      scheduled: 5_000_000,
      finished: 20_000_000,
    },
    drained: 100_000,
    leases: 5_000,
    expired: 200_000,
  },
  windowMs: 5_000,
  warmupMs: 2_000,
  latencySamples: 1_000,
  streams: 300,
  pages: 100,
  idleSecs: 60,
  waiting: 10_000,
  keys: 100_000,
};

export const QUICK: Scale = {
  form: 'quick',
  rounds: 1,
  heavyRounds: 1,
  jobs: {
    millrace: 20_000,
    raw: 20_000,
    graphilePlain: 2_000,
    graphileTuned: 10_000,
    pgBoss: 8_000,
    river: 10_000,
    bullmq: 6_000,
    remote: 5_000,
    remoteBatched: 20_000,
    workflows: 1_000,
    wal: 5_000,
    limits: 10_000,
    neighbour: 20_000,
    snapshot: 10_000,
    history: 10_000,
    historySome: 50_000,
    historyMany: 150_000,
  },
  growth: {
    steps: ['few', 'many'],
    many: {
      tenants: 2_000,
      'active-tenants': 2_000,
      queues: 200,
      priorities: 2_000,
      scheduled: 50_000,
      finished: 100_000,
    },
    drained: 10_000,
    leases: 1_000,
    expired: 10_000,
  },
  windowMs: 800,
  warmupMs: 400,
  latencySamples: 100,
  streams: 300,
  pages: 10,
  idleSecs: 6,
  waiting: 10_000,
  keys: 5_000,
};
