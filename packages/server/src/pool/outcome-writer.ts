import type { HeldJob } from '../engine/leases/bundle.js';
import type { AttemptEnd } from './attempt.js';
import type { HeldLeases } from './held-leases.js';
import type { KeptLogs } from './kept-logs.js';
import type { MarkMover } from './mark-mover.js';
import { CompletionBuffer } from './completion-buffer.js';
import { SingleOutcomes, type SingleOutcomesOptions } from './single-outcomes.js';

/**
 * Stores how attempts ended. Completions of bundled jobs are stored together (see CompletionBuffer); every other
 * outcome, and a completion that was not found in its bundle, is stored on its own (see SingleOutcomes).
 */
export interface OutcomeWriterOptions extends SingleOutcomesOptions {
  readonly marks: Pick<MarkMover, 'along'>;
}

/** When results that are not stored yet exceed this length, the pool claims nothing more. */
export const FULL_CHARACTERS = 64 * 1024 * 1024;

export class OutcomeWriter {
  readonly #heldLeases: HeldLeases;
  readonly #keptLogs: Pick<KeptLogs, 'has'>;
  readonly #single: SingleOutcomes;
  readonly #completions: CompletionBuffer;

  constructor(options: OutcomeWriterOptions) {
    const { heldLeases, keptLogs, marks, pace, progress } = options;
    this.#heldLeases = heldLeases;
    this.#keptLogs = keptLogs;
    this.#single = new SingleOutcomes(options);
    this.#completions = new CompletionBuffer(heldLeases, marks, this.#single, pace, progress);
  }

  /** How many outcomes are not stored yet. */
  get size(): number {
    return this.#single.size + this.#completions.size;
  }

  /** The total length of results that are not stored yet. */
  get characters(): number {
    return this.#single.characters + this.#completions.characters;
  }

  /** They take up as much memory as we allow them. */
  get isFull(): boolean {
    return this.characters > FULL_CHARACTERS;
  }

  /** From now on, failed attempts to store an outcome are not repeated. */
  hurry(): void {
    this.#single.hurry();
  }

  store(held: HeldJob, end: AttemptEnd): void {
    if (end.kind === 'completed' && this.#heldLeases.isBundled(held) && !this.#keptLogs.has(held))
      this.#completions.add({ held, result: end.result });
    else this.#single.store(held, end);
  }

  noHandler(held: HeldJob): void {
    this.#single.noHandler(held);
  }
}
