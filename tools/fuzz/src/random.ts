/** Random choices that a seed repeats. Every request draws from a source of its own, so one can be made again alone. */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** The source of request `index` of a run. */
  static at(seed: number, index: number): Random {
    const random = new Random(seed ^ Math.imul(index + 1, 0x9e3779b1));
    // Neighbouring indexes begin with similar states; a few steps drive them apart.
    for (let i = 0; i < 4; i++) random.float();
    return random;
  }

  /** In [0, 1). */
  float(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 0x1_0000_0000;
  }

  /** From 0 up to, and not including, `bound`. */
  below(bound: number): number {
    return Math.floor(this.float() * bound);
  }

  between(low: number, high: number): number {
    return low + this.below(high - low + 1);
  }

  chance(probability: number): boolean {
    return this.float() < probability;
  }

  pick<T>(items: readonly T[]): T {
    if (items.length === 0) throw new RangeError('nothing to pick from');
    return items[this.below(items.length)] as T;
  }

  word(length = 8): string {
    return Array.from({ length }, () => this.below(36).toString(36)).join('');
  }

  uuid(): string {
    const hex = Array.from({ length: 32 }, () => this.below(16).toString(16)).join('');
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-7${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20)}`;
  }
}
