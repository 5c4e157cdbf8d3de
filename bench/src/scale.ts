/** How much work a run does. Nothing else differs between a full run and a quick one. */
export interface Scale {
  readonly form: 'full' | 'quick';
  readonly rounds: number;
  /** For the cases whose preparation alone takes minutes. */
  readonly heavyRounds: number;
  /** How many jobs each contender gets: enough to keep it busy for a few seconds, and no more. */
  readonly jobs: {
    readonly millrace: number;
    readonly raw: number;
    readonly graphilePlain: number;
    readonly graphileTuned: number;
    readonly pgBoss: number;
    readonly bullmq: number;
    readonly remote: number;
    readonly workflows: number;
    readonly wal: number;
    readonly snapshot: number;
    /** Finished jobs in the table when lists and drains are measured: some, and many. */
    readonly historySome: number;
    readonly historyMany: number;
  };
  /** One measurement of a rate over HTTP. */
  readonly windowMs: number;
  readonly warmupMs: number;
  readonly latencySamples: number;
  readonly streams: number;
  /** Requests for each kind of page. */
  readonly pages: number;
  readonly idleSecs: number;
}

export const FULL: Scale = {
  form: 'full',
  rounds: 5,
  heavyRounds: 3,
  jobs: {
    millrace: 200_000,
    raw: 200_000,
    graphilePlain: 10_000,
    graphileTuned: 100_000,
    pgBoss: 50_000,
    bullmq: 40_000,
    remote: 60_000,
    workflows: 8_000,
    wal: 100_000,
    snapshot: 500_000,
    historySome: 1_000_000,
    historyMany: 5_000_000,
  },
  windowMs: 5_000,
  warmupMs: 2_000,
  latencySamples: 1_000,
  streams: 300,
  pages: 100,
  idleSecs: 60,
};

export const QUICK: Scale = {
  form: 'quick',
  rounds: 1,
  heavyRounds: 1,
  jobs: {
    millrace: 30_000,
    raw: 30_000,
    graphilePlain: 2_000,
    graphileTuned: 15_000,
    pgBoss: 10_000,
    bullmq: 6_000,
    remote: 8_000,
    workflows: 1_000,
    wal: 10_000,
    snapshot: 30_000,
    historySome: 50_000,
    historyMany: 200_000,
  },
  windowMs: 1_000,
  warmupMs: 500,
  latencySamples: 100,
  streams: 300,
  pages: 20,
  idleSecs: 6,
};
