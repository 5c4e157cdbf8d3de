import { editDistance } from '@millrace/sdk/rules';

const SHORTEST = 3;
/** A longer word resembles none of ours. */
const LONGEST = 64;

/** The word that was probably meant; null if none is close. */
export function closest(word: string, words: readonly string[]): string | null {
  if (word.length > LONGEST) return null;
  const farthest = Math.max(1, Math.floor(word.length / 3));
  let best: string | null = null;
  let least = farthest + 1;
  for (const candidate of words) {
    if (Math.abs(word.length - candidate.length) > farthest) continue;
    const steps = editDistance(word.toLowerCase(), candidate.toLowerCase());
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
