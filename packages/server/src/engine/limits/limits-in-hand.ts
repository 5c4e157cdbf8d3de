/**
 * Limits that creates of this process have in hand. A look at one of them would only find it locked; and the create sees
 * to most of what there is to do.
 */
export class LimitsInHand {
  /** How many creates have each. */
  readonly #counts = new Map<string, number>();
  #onEnd: (limits: Iterable<string>) => void = () => undefined;

  has(limit: string): boolean {
    return this.#counts.has(limit);
  }

  /** `listener`: hears of limits when the transaction that had them is over. */
  onEnd(listener: (limits: Iterable<string>) => void): void {
    this.#onEnd = listener;
  }

  /** For one create. Its transaction may begin again, and name the same limits again. */
  begin(): Hand {
    const mine = new Set<string>();
    return {
      take: (limits) => {
        for (const id of limits) {
          if (mine.has(id)) continue;
          mine.add(id);
          this.#counts.set(id, (this.#counts.get(id) ?? 0) + 1);
        }
      },
      end: () => {
        if (mine.size === 0) return;
        for (const id of mine) this.#giveUp(id);
        this.#onEnd(mine);
      },
    };
  }

  #giveUp(limit: string): void {
    const count = this.#counts.get(limit)!;
    if (count === 1) this.#counts.delete(limit);
    else this.#counts.set(limit, count - 1);
  }
}

export interface Hand {
  readonly take: (limits: Iterable<string>) => void;
  /** Whether the transaction was committed or not, after what it did was told. Once. */
  readonly end: () => void;
}

/** For a create that does not know when its transaction is over: looks find its limits locked. */
export const NO_HAND: Hand = { take: () => undefined, end: () => undefined };
