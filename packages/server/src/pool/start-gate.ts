import type { HeldJob } from '../engine/leases/bundle.js';
import { isSuspect, type ClaimMark } from '../engine/leases/claim-mark.js';
import type { HeldLeases } from './held-leases.js';
import type { MarkMover } from './mark-mover.js';
import type { OutcomeWriter } from './outcome-writer.js';

/**
 * Decides which claimed jobs may start, so that a job that kills its process takes as few others with it as possible
 * (docs/adr/0016-unstarted-jobs.md):
 *
 * - A job starts only once the database knows that it may have been started, that is, once it is within the mark of
 *   its claim. Marks move ahead of the starts (see MarkMover). Jobs of several databases come from several claims at a
 *   time, mixed in claim order, so the marks of all that are next move together.
 * - A job that was lost with its process before is a suspect. It starts only when no outcome is waiting to be stored,
 *   and nothing else starts until its own outcome is stored or it has run for a while. Neither wait lasts longer than
 *   PATIENCE_MS.
 */
export const PATIENCE_MS = 250;

export class StartGate {
  #suspect: { readonly held: HeldJob; readonly startedAt: number } | null = null;
  /** The suspect that is next, and since when it has been waiting. */
  #next: { readonly held: HeldJob; readonly since: number } | null = null;
  /** On several databases: how many of the next jobs have marks that are far enough, or on their way there. */
  #asked = 0;

  constructor(
    private readonly marks: Pick<MarkMover, 'ask'>,
    private readonly heldLeases: Pick<HeldLeases, 'isGone'>,
    private readonly outcomes: Pick<OutcomeWriter, 'size'>,
    private readonly hasSeveral: boolean,
  ) {}

  mayStart(held: HeldJob, now: number): boolean {
    return isMarked(held) && !this.#mustWait(held, now);
  }

  started(held: HeldJob, now: number): void {
    this.#asked--;
    if (!isSuspect(held.job)) return;
    this.#suspect = { held, startedAt: now };
    this.#next = null;
  }

  /** Moves marks so that about `ahead` jobs of the buffer can start without waiting for a database. */
  prepare(buffer: readonly HeldJob[], ahead: number, now: number): void {
    const head = buffer[0];
    if (!head || this.#isAsked(head, ahead) || this.#mustWait(head, now)) return;
    if (!this.hasSeveral) {
      if (head.mark) this.marks.ask(head.mark, reachFor(buffer, head.mark, ahead));
      return;
    }
    const next = nextToStart(buffer, ahead);
    this.#asked = next.length;
    const marks = new Set(next.flatMap(({ mark }) => mark ?? []));
    for (const mark of marks) this.marks.ask(mark, reachFor(buffer, mark, next.length));
  }

  /** The remaining jobs of these claims will not be started, so their marks are no longer needed. */
  abandon(buffer: readonly HeldJob[]): void {
    for (const { mark } of buffer) if (mark) this.marks.ask(mark, mark.size);
  }

  /** The buffer is not walked for each job that starts. */
  #isAsked({ mark, number }: HeldJob, ahead: number): boolean {
    if (!this.hasSeveral) return mark === null || isAsked(number, mark, ahead);
    return this.#asked * 2 >= ahead && (mark === null || number <= mark.asked);
  }

  #mustWait(held: HeldJob, now: number): boolean {
    const suspect = this.#suspect;
    if (suspect && !this.heldLeases.isGone(suspect.held) && now - suspect.startedAt < PATIENCE_MS) return true;
    this.#suspect = null;
    if (!isSuspect(held.job)) return false;
    if (this.#next?.held !== held) this.#next = { held, since: now };
    return this.outcomes.size > 0 && now - this.#next.since < PATIENCE_MS;
  }
}

const isMarked = ({ mark, number }: HeldJob): boolean => mark === null || number <= mark.reach;

/** How many jobs can start, counting from this one. */
export const marked = ({ mark, number }: HeldJob): number => (mark === null ? 1 : Math.max(0, mark.reach - number + 1));

/** Whether the mark is as far as that, or on its way there. */
const isAsked = (number: number, { asked, size }: ClaimMark, ahead: number): boolean =>
  asked === size || (asked - number + 1) * 2 >= ahead;

/** What may start together: a suspect starts alone. */
function nextToStart(buffer: readonly HeldJob[], ahead: number): readonly HeldJob[] {
  const next = buffer.slice(0, ahead);
  const suspect = next.findIndex(({ job }) => isSuspect(job));
  return suspect === -1 ? next : next.slice(0, Math.max(1, suspect));
}

/** Stops before a suspect, unless it is at the head; covers the whole claim if nothing more of it follows. */
function reachFor(buffer: readonly HeldJob[], mark: ClaimMark, ahead: number): number {
  let reach = 0;
  let i = 0;
  for (; i < buffer.length && i < ahead; i++) {
    const held = buffer[i]!;
    if (held.mark !== mark) continue;
    if (i > 0 && isSuspect(held.job)) return reach;
    // A claim that took two statements is sorted by the claim order of its jobs, not by number.
    reach = Math.max(reach, held.number);
    if (i === 0 && isSuspect(held.job)) break;
  }
  for (; i < buffer.length; i++) if (buffer[i]!.mark === mark && buffer[i]!.number > reach) return reach;
  return mark.size;
}
