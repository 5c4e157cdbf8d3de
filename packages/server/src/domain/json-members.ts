import { skipSpace } from './json-syntax.js';
import { eachField } from './raw-json.js';

/** Puts JSON objects together from the texts of their members, and takes members out of them. */

export const memberText = (key: string, text: string): string => `${JSON.stringify(key)}:${text}`;

/** The JSON object with these members. */
export function objectText(entries: Iterable<readonly [key: string, text: string]>): string {
  const fields: string[] = [];
  for (const [key, text] of entries) fields.push(memberText(key, text));
  return `{${fields.join(',')}}`;
}

/** The JSON object without the member of this name. The rest stays as it was sent; without such a member, all of it. */
export function withoutMember(text: string, name: string): string {
  const kept: string[] = [];
  let isThere = false;
  /** The members since the last one that was left out. */
  let from = -1;
  let to = -1;
  const keep = (): void => {
    if (from !== -1) kept.push(text.slice(from, to));
    from = -1;
  };
  eachField(text, 0, (key, _start, end, keyStart) => {
    if (key === name) {
      isThere = true;
      return keep();
    }
    if (from === -1) from = keyStart;
    to = end;
  });
  if (!isThere) return text;
  keep();
  return `{${kept.join(',')}}`;
}

/**
 * The JSON object with these members as its last ones. The rest stays as it was sent, to the byte, unless one of them
 * has such a key: then that one gives way.
 */
export function withMembers(text: string, members: readonly (readonly [key: string, text: string])[]): string {
  const rest = members.reduce((before, [key]) => withoutMember(before, key), text.trim());
  const added = objectText(members).slice(1);
  return isEmptyObject(rest) ? `{${added}` : `${rest.slice(0, -1)},${added}`;
}

/** Of the text of an object, without white space around it. */
export const isEmptyObject = (text: string): boolean => skipSpace(text, 1) === text.length - 1;
