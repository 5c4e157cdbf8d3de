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
interface Most {
  readonly perClaim: number;
  /** Including the jobs that are settling. Those of databases that are held up do not count. */
  readonly inHand: number;
}

export const OF_ONE: Most = { perClaim: 500, inHand: 2_000 };
/** Each of several databases gives a part of it: a claim, and a statement that settles, should not be much smaller. */
export const OF_SEVERAL: Most = { perClaim: 2_000, inHand: 4_000 };
/** Times as many, including the jobs of databases that are held up. */
const HELD = 2;
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
  readonly #most: Most;

  constructor(
    private readonly pace: Pick<Pace, 'claimMs' | 'settleMs' | 'finishedWithin' | 'passedWithin'>,
    private readonly workers: number,
    hasSeveral: boolean,
  ) {
    this.#most = hasSeveral ? OF_SEVERAL : OF_ONE;
  }

  /** How many jobs to ask for; 0: it is not worth a statement. `starving`: nothing is there, and nothing is coming. */
  nextClaim({ buffered, running, claiming, settling, heldUp }: InHand, starving: boolean, cut: boolean): number {
    const target = this.#target();
    const { perClaim, inHand } = this.#most;
    const unfinished = buffered + running + claiming;
    const room = target - unfinished;
    const most = Math.min(inHand - unfinished - settling, HELD * inHand - unfinished - settling - heldUp);
    const worthIt = Math.min(target, 2 * perClaim) / 2;
    if (room <= 0 || (!starving && (cut || room < worthIt))) return 0;
    // Outcomes that are being stored will make room; until then, a few large claims are better than many small ones.
    if (most < Math.min(room, worthIt)) return 0;
    return Math.min(room, most, perClaim);
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
    return Math.min(this.#most.inHand, Math.max(this.workers, this.pace.finishedWithin(horizonMs)));
  }
}
