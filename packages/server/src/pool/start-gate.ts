import type { HeldJob } from '../engine/leases/bundle.js';
import { isSuspect, type ClaimMark, type MarkMove } from '../engine/leases/claim-mark.js';

/**
 * Decides which claimed jobs may start, so that a job that kills its process takes as few others with it as possible
 * (docs/adr/0016-unstarted-jobs.md):
 *
 * - A job starts only once the database knows that it may have been started, that is, once it is within the mark of
 *   its claim. Marks move ahead of the starts: by statements that store outcomes where possible, otherwise by a
 *   statement of their own. Only one such statement runs at a time, so that marks never move back.
 * - A job that was lost with its process before is a suspect. It starts only when no outcome is waiting to be stored,
 *   and nothing else starts until its own outcome is stored or it has run for a while. Neither wait lasts longer than
 *   PATIENCE_MS.
 */
export interface StartGateOptions {
  /** How many jobs have ended whose outcomes are not stored yet. */
  readonly unstored: () => number;
  readonly isGone: (held: HeldJob) => boolean;
  readonly move: (moves: readonly MarkMove[]) => Promise<void>;
  /** Called when more jobs may start. */
  readonly onMoved: () => void;
}

export const PATIENCE_MS = 250;
const RETRY_MS = 500;

export class StartGate {
  readonly #pending = new Map<ClaimMark, number>();
  #moving = false;
  #suspect: { readonly held: HeldJob; readonly startedAt: number } | null = null;
  /** The suspect that is next, and since when it has been waiting. */
  #next: { readonly held: HeldJob; readonly since: number } | null = null;

  constructor(private readonly options: StartGateOptions) {}

  /** A statement that moves marks is in flight or about to be sent. */
  get isMoving(): boolean {
    return this.#moving || this.#pending.size > 0;
  }

  mayStart(held: HeldJob, now: number): boolean {
    return isMarked(held) && !this.#mustWait(held, now);
  }

  started(held: HeldJob, now: number): void {
    if (!isSuspect(held.job)) return;
    this.#suspect = { held, startedAt: now };
    this.#next = null;
  }

  /** Moves the mark so that about `ahead` jobs of the buffer can start without waiting for the database. */
  prepare(buffer: readonly HeldJob[], ahead: number, now: number): void {
    const head = buffer[0];
    if (!head?.mark || marked(head) * 2 >= ahead || this.#mustWait(head, now)) return;
    this.#ask(head.mark, reachFor(buffer, head.mark, ahead));
  }

  /** The remaining jobs of these claims will not be started, so their marks are no longer needed. */
  abandon(buffer: readonly HeldJob[]): void {
    for (const { mark } of buffer) if (mark) this.#ask(mark, mark.size);
  }

  /** Sends a statement that can also move marks. */
  async along<T>(send: (moves: readonly MarkMove[]) => Promise<T>): Promise<T> {
    const moves = this.#take();
    if (moves.length === 0) return send(moves);
    this.#moving = true;
    try {
      const answer = await send(moves);
      for (const { mark, reach } of moves) mark.reach = reach;
      if (this.#pending.size > 0) this.#schedule();
      return answer;
    } catch (error) {
      for (const { mark, reach } of moves) if (!this.#pending.has(mark)) this.#pending.set(mark, reach);
      setTimeout(() => this.#send(), RETRY_MS).unref();
      throw error;
    } finally {
      this.#moving = false;
      this.options.onMoved();
    }
  }

  #mustWait(held: HeldJob, now: number): boolean {
    const { unstored, isGone } = this.options;
    if (this.#suspect && !isGone(this.#suspect.held) && now - this.#suspect.startedAt < PATIENCE_MS) return true;
    this.#suspect = null;
    if (!isSuspect(held.job)) return false;
    if (this.#next?.held !== held) this.#next = { held, since: now };
    return unstored() > 0 && now - this.#next.since < PATIENCE_MS;
  }

  #ask(mark: ClaimMark, reach: number): void {
    if (reach <= mark.asked) return;
    mark.asked = reach;
    this.#pending.set(mark, reach);
    this.#schedule();
  }

  /** Deferred, because a statement that stores outcomes in this turn of the event loop can move the marks too. */
  #schedule(): void {
    setImmediate(() => this.#send());
  }

  #send(): void {
    if (this.#pending.size === 0 || this.#moving) return;
    this.along((moves) => this.options.move(moves)).catch(() => undefined);
  }

  #take(): MarkMove[] {
    if (this.#moving || this.#pending.size === 0) return [];
    const moves = [...this.#pending].map(([mark, reach]) => ({ mark, reach }));
    this.#pending.clear();
    return moves;
  }
}

const isMarked = ({ mark, number }: HeldJob): boolean => mark === null || number <= mark.reach;

/** How many jobs can start, counting from this one. */
export const marked = ({ mark, number }: HeldJob): number => (mark === null ? 1 : Math.max(0, mark.reach - number + 1));

/** Stops before a suspect, unless it is at the head; covers the whole claim if nothing more of it follows. */
function reachFor(buffer: readonly HeldJob[], mark: ClaimMark, ahead: number): number {
  let reach = 0;
  for (let i = 0; i < buffer.length && i < ahead; i++) {
    const held = buffer[i]!;
    if (held.mark !== mark) continue;
    if (i > 0 && isSuspect(held.job)) return reach;
    // A claim that took two statements is sorted by the claim order of its jobs, not by number.
    reach = Math.max(reach, held.number);
    if (i === 0 && isSuspect(held.job)) break;
  }
  return buffer.some((held) => held.mark === mark && held.number > reach) ? reach : mark.size;
}
