import { membersOf } from './json/slice.js';

/** What a handler reported about how far it is, where it can be drawn as a bar. */
export interface ShownProgress {
  /** Between 0 and 1. */
  readonly part: number;
  /** In its own figures: "312 of 1000", "40 %". */
  readonly words: string;
  /** It said more than that. */
  readonly hasMore: boolean;
}

const NUMBER = /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/;

/** From `percent`, or from `done` and `total`; null if it has neither. The figures are those of the text. */
export function progressOf(text: string): ShownProgress | null {
  const members = membersOf(text);
  const figure = (name: string): string | undefined => {
    const value = members.get(name)?.trim();
    return value !== undefined && NUMBER.test(value) ? value : undefined;
  };
  const [percent, done, total] = [figure('percent'), figure('done'), figure('total')];
  if (done !== undefined && total !== undefined && Number(total) > 0) {
    const part = between(Number(done) / Number(total));
    return { part, words: `${done} of ${total}`, hasMore: members.size > (percent === undefined ? 2 : 3) };
  }
  if (percent === undefined) return null;
  return { part: between(Number(percent) / 100), words: `${percent} %`, hasMore: members.size > 1 };
}

const between = (part: number): number => Math.min(1, Math.max(0, part));
