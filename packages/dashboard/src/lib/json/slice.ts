/**
 * Cuts members out of JSON text without reprinting them: parsing would round large numbers and drop the zero of `1.10`,
 * and what a tenant sent is shown, copied and sent again exactly as it was.
 */
import { keyName, memberSpans, rootOf, textOf } from './spans.js';

/** The raw text of each member of the object that `text` is. The text must be valid JSON. */
export function membersOf(text: string): Map<string, string> {
  const root = rootOf(text);
  const members = new Map<string, string>();
  if (root?.kind !== 'object') return members;
  for (const { key, value } of memberSpans(text, root)) members.set(keyName(key ?? '""'), textOf(text, value));
  return members;
}

/** The raw texts of the elements of the array that `text` is. */
export function elementsOf(text: string): string[] {
  const root = rootOf(text);
  return root?.kind === 'array' ? [...memberSpans(text, root)].map(({ value }) => textOf(text, value)) : [];
}

/** Puts an object together from raw texts; members without a text are left out. */
export const objectOf = (members: Readonly<Record<string, string | undefined>>): string => {
  const parts = Object.entries(members).filter(([, text]) => text !== undefined);
  return `{${parts.map(([name, text]) => `${JSON.stringify(name)}:${text}`).join(',')}}`;
};

/** Whether a text is a JSON object. */
export function isObjectText(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}

/** What was typed, as it is, for `objectOf`; undefined if nothing was. */
export const typedText = (typed: string): string | undefined => (typed.trim() === '' ? undefined : typed.trim());

/** What was typed as a JSON string, for `objectOf`; undefined if nothing was. */
export const typedString = (typed: string): string | undefined =>
  typed.trim() === '' ? undefined : JSON.stringify(typed.trim());
