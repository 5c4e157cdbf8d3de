/**
 * Numbers keys that are given as places in longer texts, from 0 in the order in which they first come. A text of
 * nothing but keys has a hundred thousand of them per megabyte, and a `Map` needs a string for each: most of the time
 * would go into making those. Here a key is hashed and compared where it stands.
 */

/** Drawn for each process: nobody outside can know which keys would collide. */
const [SEED, FACTOR] = crypto.getRandomValues(new Int32Array(2)).map((drawn) => drawn | 1) as unknown as [
  number,
  number,
];

const FIRST_SLOTS = 64;

export class KeyTable {
  /** Open addressing: 0 is free, otherwise the number of a key plus 1. At most half of it is taken. */
  #slots = new Int32Array(FIRST_SLOTS);
  readonly #hashes: number[] = [];
  readonly #texts: string[] = [];
  readonly #starts: number[] = [];
  readonly #ends: number[] = [];

  /** The number of the key between these places, new or not. */
  numberOf(text: string, start: number, end: number): number {
    const hash = hashOf(text, start, end);
    const slot = this.#slotOf(hash, text, start, end);
    const known = this.#slots[slot]!;
    if (known !== 0) return known - 1;
    const number = this.#hashes.length;
    this.#hashes.push(hash);
    this.#texts.push(text);
    this.#starts.push(start);
    this.#ends.push(end);
    this.#slots[slot] = number + 1;
    if (2 * this.#hashes.length > this.#slots.length) this.#grow();
    return number;
  }

  has(text: string, start: number, end: number): boolean {
    return this.#hashes.length > 0 && this.#slots[this.#slotOf(hashOf(text, start, end), text, start, end)] !== 0;
  }

  /** That of the key, or the free one where it belongs. */
  #slotOf(hash: number, text: string, start: number, end: number): number {
    const slots = this.#slots;
    const mask = slots.length - 1;
    let slot = hash & mask;
    for (let known = slots[slot]!; known !== 0; known = slots[slot]!) {
      if (this.#hashes[known - 1] === hash && this.#isAt(known - 1, text, start, end)) return slot;
      slot = (slot + 1) & mask;
    }
    return slot;
  }

  #isAt(number: number, text: string, start: number, end: number): boolean {
    const from = this.#starts[number]!;
    if (this.#ends[number]! - from !== end - start) return false;
    const other = this.#texts[number]!;
    for (let at = start, there = from; at < end; at++, there++)
      if (text.charCodeAt(at) !== other.charCodeAt(there)) return false;
    return true;
  }

  #grow(): void {
    const slots = new Int32Array(4 * this.#slots.length);
    const mask = slots.length - 1;
    for (const [number, hash] of this.#hashes.entries()) {
      let slot = hash & mask;
      while (slots[slot] !== 0) slot = (slot + 1) & mask;
      slots[slot] = number + 1;
    }
    this.#slots = slots;
  }
}

function hashOf(text: string, start: number, end: number): number {
  let hash = SEED;
  for (let at = start; at < end; at++) {
    hash = Math.imul(hash ^ text.charCodeAt(at), FACTOR);
    hash ^= hash >>> 15;
  }
  return hash;
}
