const SHORTEST = 3;

/** The word that was probably meant; null if none is close. */
export function closest(word: string, words: readonly string[]): string | null {
  const farthest = Math.max(1, Math.floor(word.length / 3));
  let best: string | null = null;
  let least = farthest + 1;
  for (const candidate of words) {
    const steps = distance(word.toLowerCase(), candidate.toLowerCase());
    if (steps < least) [best, least] = [candidate, steps];
  }
  return best ?? onlyOneThatBegins(word, words);
}

/** Somebody who types the beginning of a word expects the rest to be guessed. */
function onlyOneThatBegins(word: string, words: readonly string[]): string | null {
  const found = words.filter((candidate) => word.length >= SHORTEST && candidate.startsWith(word.toLowerCase()));
  return found.length === 1 ? (found[0] ?? null) : null;
}

export const didYouMean = (word: string, words: readonly string[], prefix = ''): string => {
  const meant = closest(word, words);
  return meant === null ? '' : `; did you mean ${prefix}${meant}?`;
};

/** How many insertions, deletions, changes and swaps of neighbours lie between two words. */
function distance(a: string, b: string): number {
  if (Math.abs(a.length - b.length) > 8 || a.length > 64) return Number.MAX_SAFE_INTEGER;
  const rows: number[][] = Array.from({ length: a.length + 1 }, (_, i) => [i]);
  const at = (i: number, j: number): number => rows[i]?.[j] ?? 0;
  for (let j = 1; j <= b.length; j++) (rows[0] ?? [])[j] = j;
  for (let i = 1; i <= a.length; i++) {
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1;
      let steps = Math.min(at(i - 1, j) + 1, at(i, j - 1) + 1, at(i - 1, j - 1) + same);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        steps = Math.min(steps, at(i - 2, j - 2) + 1);
      (rows[i] ?? [])[j] = steps;
    }
  }
  return at(a.length, b.length);
}
