import type { ClaimMark, MarkMove } from '../engine/leases/claim-mark.js';
import type { LeaseKeeper } from '../engine/leases/lease-keeper.js';
import type { Progress } from './progress.js';

/**
 * Moves the marks of claims in the database: along with statements that store outcomes where possible, otherwise by a
 * statement of their own. Only one statement that moves marks runs at a time, so that marks never move back.
 */
const RETRY_MS = 500;

export class MarkMover {
  readonly #pending = new Map<ClaimMark, number>();
  #moving = false;
  /** Since when marks are asked for that have not moved, by performance.now(). */
  #since: number | null = null;

  constructor(
    private readonly keeper: Pick<LeaseKeeper, 'moveMarks'>,
    private readonly progress: Progress,
  ) {}

  /** A statement that moves marks is in flight or about to be sent. */
  get isMoving(): boolean {
    return this.#moving || this.#pending.size > 0;
  }

  /** How long the database has not answered. */
  get waitedMs(): number {
    return this.#since === null ? 0 : performance.now() - this.#since;
  }

  ask(mark: ClaimMark, reach: number): void {
    if (reach <= mark.asked) return;
    mark.asked = reach;
    this.#pending.set(mark, reach);
    this.#since ??= performance.now();
    this.#schedule();
  }

  /** Sends a statement that can also move marks. */
  async along<T>(send: (moves: readonly MarkMove[]) => Promise<T>): Promise<T> {
    const moves = this.#take();
    if (moves.length === 0) return send(moves);
    this.#moving = true;
    try {
      const answer = await send(moves);
      for (const { mark, reach } of moves) mark.reach = reach;
      this.#since = this.#pending.size > 0 ? performance.now() : null;
      if (this.#pending.size > 0) this.#schedule();
      return answer;
    } catch (error) {
      for (const { mark, reach } of moves) if (!this.#pending.has(mark)) this.#pending.set(mark, reach);
      setTimeout(() => this.#send(), RETRY_MS).unref();
      throw error;
    } finally {
      this.#moving = false;
      this.progress.made();
    }
  }

  /** Deferred, because a statement that stores outcomes in this turn of the event loop can move the marks too. */
  #schedule(): void {
    setImmediate(() => this.#send());
  }

  #send(): void {
    if (this.#pending.size === 0 || this.#moving) return;
    this.along((moves) => this.keeper.moveMarks(moves)).catch(() => undefined);
  }

  #take(): MarkMove[] {
    if (this.#moving || this.#pending.size === 0) return [];
    const moves = [...this.#pending].map(([mark, reach]) => ({ mark, reach }));
    this.#pending.clear();
    return moves;
  }
}
