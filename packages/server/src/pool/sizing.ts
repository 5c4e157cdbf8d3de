import type { Pace } from './pace.js';

/**
 * How much a pool takes on, by the rate of its workers and the time that claims and settlements take.
 *
 * The pool aims to have as many jobs buffered or running as there are workers or, if handlers are fast, as many as they
 * finish in AHEAD_MS plus the time that a claim takes. So under load claims are few and large, however distant the
 * database is, and no job waits here that an idle process elsewhere could run.
 */
const AHEAD_MS = 50;
/** Times the measured time of a claim. At 1, the number of jobs held could never grow to what the latency demands. */
const CLAIM_MARGIN = 1.5;
const MAX_CLAIM = 500;
/** On several databases, each of which gives a part of it. */
const MAX_CLAIM_OF_ALL = 1_000;
/** Including the jobs that are settling. Those of databases that are held up do not count. */
export const MAX_IN_HAND = 2_000;
/** Including those. */
const MAX_HELD = 2 * MAX_IN_HAND;
/**
 * Jobs started, or about to be, and not stored: together with one job per worker, those that a crash can cost a retry.
 */
export const MAX_AT_RISK = 2_000;
const START_MS = 50;
const START_MARGIN = 3;

/** What the pool holds, by where it is. */
export interface InHand {
  readonly buffered: number;
  readonly running: number;
  /** Slots of claims that are under way. */
  readonly claiming: number;
  /** Outcomes that are on their way to databases that take them. */
  readonly settling: number;
  /** Everything of databases that are held up. */
  readonly heldUp: number;
}

export class Sizing {
  constructor(
    private readonly pace: Pick<Pace, 'claimMs' | 'settleMs' | 'finishedWithin' | 'passedWithin'>,
    private readonly workers: number,
    private readonly hasSeveral: boolean,
  ) {}

  /** How many jobs to ask for; 0: it is not worth a statement. `starving`: nothing is there, and nothing is coming. */
  nextClaim({ buffered, running, claiming, settling, heldUp }: InHand, starving: boolean, cut: boolean): number {
    const target = this.#target();
    const mostPerClaim = this.hasSeveral ? MAX_CLAIM_OF_ALL : MAX_CLAIM;
    const unfinished = buffered + running + claiming;
    const room = target - unfinished;
    const most = Math.min(MAX_IN_HAND - unfinished - settling, MAX_HELD - unfinished - settling - heldUp);
    const worthIt = Math.min(target, 2 * mostPerClaim) / 2;
    if (room <= 0 || (!starving && (cut || room < worthIt))) return 0;
    // Outcomes that are being stored will make room; until then, a few large claims are better than many small ones.
    if (most < Math.min(room, worthIt)) return 0;
    return Math.min(room, most, mostPerClaim);
  }

  /**
   * How many more jobs may start before the next outcomes are stored: as many as pass through the pool in that time,
   * with a margin, or the number could never grow. These are the jobs that a crash costs a retry.
   */
  startAhead(running: number, settling: number): number {
    const atRisk = this.pace.passedWithin(START_MS + START_MARGIN * this.pace.settleMs);
    return Math.max(this.workers, Math.min(MAX_AT_RISK, atRisk) - running - settling);
  }

  #target(): number {
    const horizonMs = AHEAD_MS + CLAIM_MARGIN * this.pace.claimMs;
    return Math.min(MAX_IN_HAND, Math.max(this.workers, this.pace.finishedWithin(horizonMs)));
  }
}
