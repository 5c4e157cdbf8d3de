import { median } from '@millrace/tools-shared';
import type { Violation } from './oracle.js';
import type { MemoryUse, Target } from './target.js';

export interface MemoryReading {
  readonly afterWarmUp: MemoryUse;
  readonly atEnd: MemoryUse;
  readonly ratio: { readonly live: number; readonly resident: number };
}

/**
 * Live memory is the least that was ever in use between two collections, so it hardly moves: a kilobyte kept per
 * request would show. Resident memory varies with the collector, by a third and more.
 */
const MAX_RATIO = { live: 1.35, resident: 1.6 } as const;
/** With fewer requests the heap is still growing to its working size, and a ratio says nothing. */
const ENOUGH_REQUESTS = 20_000;

/** Compares memory after the warm-up with memory at the end of a run. */
export class MemoryWatch {
  readonly #target: Target;
  readonly #count: number;
  readonly #samples: { readonly sent: number; readonly use: MemoryUse }[] = [];

  constructor(target: Target, count: number) {
    this.#target = target;
    this.#count = count;
  }

  async sample(sent: number): Promise<void> {
    const use = await this.#target.memory();
    if (use !== null) this.#samples.push({ sent, use });
  }

  reading(): MemoryReading | null {
    if (this.#count < ENOUGH_REQUESTS) return null;
    const afterWarmUp = this.#between(0.25, 0.55);
    const atEnd = this.#between(0.7, 1);
    if (afterWarmUp === null || atEnd === null) return null;
    const ratio = { live: atEnd.live / afterWarmUp.live, resident: atEnd.resident / afterWarmUp.resident };
    return { afterWarmUp, atEnd, ratio };
  }

  findings(): Violation[] {
    const reading = this.reading();
    if (reading === null) return [];
    return (['live', 'resident'] as const)
      .filter((kind) => reading.ratio[kind] > MAX_RATIO[kind])
      .map((kind) => ({
        rule: 'memory',
        detail: `${kind} memory grew by a factor of ${reading.ratio[kind].toFixed(2)}`,
      }));
  }

  #between(from: number, to: number): MemoryUse | null {
    const uses = this.#samples
      .filter(({ sent }) => sent >= from * this.#count && sent <= to * this.#count)
      .map(({ use }) => use);
    if (uses.length === 0) return null;
    return {
      live: Math.min(...uses.map(({ live }) => live)),
      resident: median(uses.map(({ resident }) => resident)),
    };
  }
}
