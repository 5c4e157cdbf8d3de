import type { Violation } from './oracle.js';
import type { Target } from './target.js';

export interface MemoryReading {
  readonly afterWarmUp: number;
  readonly atEnd: number;
  readonly ratio: number;
}

/** A heap that breathes stays below this; one that leaks a kilobyte a request does not, over the requests it takes to be judged. */
const MAX_RATIO = 1.35;
/** Below this many requests the heap is still growing into its working size, and a ratio says nothing. */
const ENOUGH_REQUESTS = 20_000;

/** Memory in the third tenth of a run against the last: medians, because a collection may be just due. */
export class MemoryWatch {
  readonly #target: Target;
  readonly #count: number;
  readonly #samples: { readonly sent: number; readonly bytes: number }[] = [];

  constructor(target: Target, count: number) {
    this.#target = target;
    this.#count = count;
  }

  sample(sent: number): void {
    const bytes = this.#target.memory();
    if (bytes !== null) this.#samples.push({ sent, bytes });
  }

  reading(): MemoryReading | null {
    if (this.#count < ENOUGH_REQUESTS) return null;
    const afterWarmUp = this.#median(0.3, 0.45);
    const atEnd = this.#median(0.85, 1);
    if (afterWarmUp === null || atEnd === null) return null;
    return { afterWarmUp, atEnd, ratio: atEnd / afterWarmUp };
  }

  findings(): Violation[] {
    const reading = this.reading();
    if (reading === null || reading.ratio <= MAX_RATIO) return [];
    return [{ rule: 'memory', detail: `grew to ${reading.ratio.toFixed(2)} times what it was after the warm-up` }];
  }

  #median(from: number, to: number): number | null {
    const bytes = this.#samples
      .filter(({ sent }) => sent >= from * this.#count && sent <= to * this.#count)
      .map((each) => each.bytes)
      .sort((a, b) => a - b);
    return bytes[bytes.length >> 1] ?? null;
  }
}
