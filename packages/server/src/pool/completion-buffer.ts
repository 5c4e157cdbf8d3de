import { isUnavailable } from '../domain/errors.js';
import { pause } from './pause.js';
import type { HeldCompletion, HeldLeases } from './held-leases.js';
import type { MarkMover } from './mark-mover.js';
import type { Pace } from './pace.js';
import type { Progress } from './progress.js';
import type { SingleOutcomes } from './single-outcomes.js';

/**
 * Completions of bundled jobs on their way to the database: the path that nearly every job of a busy pool takes, so it
 * creates no Promise per job. Completions that arrive while statements are in flight share the next one.
 *
 * A completion that must be stored on its own goes on to SingleOutcomes: its job is no longer in its bundle, or the
 * statement failed, perhaps because of another item.
 */
const MAX_ITEMS = 1_000;
const MAX_CHARACTERS = 32 * 1024 * 1024;
const IN_FLIGHT = 2;
const RETRY_MS = 500;

export class CompletionBuffer {
  #waiting: HeldCompletion[] = [];
  #inFlight = 0;
  #size = 0;
  #characters = 0;
  #scheduled = false;

  constructor(
    private readonly heldLeases: Pick<HeldLeases, 'completeBundled'>,
    private readonly marks: Pick<MarkMover, 'along'>,
    private readonly single: SingleOutcomes,
    private readonly pace: Pick<Pace, 'settlementTook'>,
    private readonly progress: Progress,
  ) {}

  /** How many completions are not stored yet. */
  get size(): number {
    return this.#size;
  }

  /** The total length of their results. */
  get characters(): number {
    return this.#characters;
  }

  add(completion: HeldCompletion): void {
    this.#size++;
    this.#characters += completion.result.length;
    this.#waiting.push(completion);
    this.#schedule();
  }

  #schedule(): void {
    if (this.#scheduled || this.#inFlight >= IN_FLIGHT || this.#waiting.length === 0) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      while (this.#inFlight < IN_FLIGHT && this.#waiting.length > 0) void this.#send(this.#nextOnes());
    });
  }

  #nextOnes(): HeldCompletion[] {
    let characters = 0;
    let n = 0;
    while (n < this.#waiting.length && n < MAX_ITEMS && (n === 0 || characters < MAX_CHARACTERS))
      characters += this.#waiting[n++]!.result.length;
    return this.#waiting.splice(0, n);
  }

  async #send(completions: readonly HeldCompletion[]): Promise<void> {
    this.#inFlight++;
    try {
      const startedAt = performance.now();
      const missed = await this.marks.along((moves) => this.heldLeases.completeBundled(completions, moves));
      this.pace.settlementTook(performance.now() - startedAt);
      this.#leave(completions, missed);
    } catch (error) {
      // Each is now settled on its own and gets its own answer; a little later if the database is away.
      if (isUnavailable(error)) await pause(RETRY_MS);
      this.#leave(completions, completions);
    }
    this.#inFlight--;
    this.#schedule();
  }

  #leave(completions: readonly HeldCompletion[], missed: readonly HeldCompletion[]): void {
    this.#size -= completions.length;
    for (const { result } of completions) this.#characters -= result.length;
    for (const { held, result } of missed) this.single.store(held, { kind: 'completed', result });
    if (missed.length < completions.length) this.progress.made();
  }
}
