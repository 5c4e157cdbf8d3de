/** Numbers that look random and are the same for the same seed: a run that found something can be run again. */
export interface Random {
  /** From 0 up to, not including, 1. */
  next(): number;
  /** A whole number from `low` to `high`, both included. */
  integer(low: number, high: number): number;
  /** Any number from `low` to `high`. */
  between(low: number, high: number): number;
  pick<T>(list: readonly T[]): T;
  chance(probability: number): boolean;
  shuffle<T>(list: readonly T[]): T[];
  /** Another sequence, that depends on this seed and the name alone: who draws first does not matter. */
  fork(name: string): Random;
}

export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  // A 32-bit counter through an integer hash: short, and every bit of the seed reaches every bit of the answer.
  const next = (): number => {
    state = (state + 0x9e3779b9) >>> 0;
    return scramble(state) / 0x1_0000_0000;
  };
  const integer = (low: number, high: number): number => low + Math.floor(next() * (high - low + 1));
  return {
    next,
    integer,
    between: (low, high) => low + next() * (high - low),
    pick: <T>(list: readonly T[]): T => {
      if (list.length === 0) throw new Error('nothing to pick from');
      return list[integer(0, list.length - 1)] as T;
    },
    chance: (probability) => next() < probability,
    shuffle: (list) => {
      const copy = [...list];
      for (let i = copy.length - 1; i > 0; i--) {
        const j = integer(0, i);
        [copy[i], copy[j]] = [copy[j] as (typeof copy)[number], copy[i] as (typeof copy)[number]];
      }
      return copy;
    },
    fork: (name) => seededRandom(scramble((seed ^ textHash(name)) >>> 0)),
  };
}

function scramble(value: number): number {
  let x = value;
  x = Math.imul(x ^ (x >>> 16), 0x85ebca6b);
  x = Math.imul(x ^ (x >>> 13), 0xc2b2ae35);
  return (x ^ (x >>> 16)) >>> 0;
}

function textHash(text: string): number {
  let hash = 0x811c9dc5;
  for (const character of text) hash = Math.imul(hash ^ character.charCodeAt(0), 0x01000193);
  return hash >>> 0;
}
