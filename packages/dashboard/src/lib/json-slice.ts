/**
 * Cuts members out of JSON text without reprinting them: parsing would round large numbers and drop the zero of `1.10`,
 * and what a tenant sent is shown, copied and sent again exactly as it was.
 */

/** The raw text of each member of the object that `text` is. The text must be valid JSON. */
export function membersOf(text: string): Map<string, string> {
  const members = new Map<string, string>();
  let at = skipBlank(text, 0);
  if (text[at] !== '{') return members;
  at = skipBlank(text, at + 1);
  while (at < text.length && text[at] !== '}') {
    const nameEnd = endOfString(text, at);
    const name = JSON.parse(text.slice(at, nameEnd)) as string;
    const start = skipBlank(text, skipBlank(text, nameEnd) + 1);
    const end = endOfValue(text, start);
    members.set(name, text.slice(start, end));
    at = skipBlank(text, end);
    if (text[at] === ',') at = skipBlank(text, at + 1);
  }
  return members;
}

/** The raw text of the member, or undefined. */
export const memberOf = (text: string, name: string): string | undefined => membersOf(text).get(name);

/** The raw texts of the elements of the array that `text` is. */
export function elementsOf(text: string): string[] {
  const elements: string[] = [];
  let at = skipBlank(text, 0);
  if (text[at] !== '[') return elements;
  at = skipBlank(text, at + 1);
  while (at < text.length && text[at] !== ']') {
    const end = endOfValue(text, at);
    elements.push(text.slice(at, end));
    at = skipBlank(text, end);
    if (text[at] === ',') at = skipBlank(text, at + 1);
  }
  return elements;
}

/** Puts an object together from raw texts; members without a text are left out. */
export const objectOf = (members: Readonly<Record<string, string | undefined>>): string => {
  const parts = Object.entries(members).filter(([, text]) => text !== undefined);
  return `{${parts.map(([name, text]) => `${JSON.stringify(name)}:${text}`).join(',')}}`;
};

function skipBlank(text: string, from: number): number {
  let at = from;
  while (at < text.length && ' \n\r\t'.includes(text.charAt(at))) at++;
  return at;
}

function endOfString(text: string, from: number): number {
  let at = from + 1;
  while (at < text.length && text[at] !== '"') at += text[at] === '\\' ? 2 : 1;
  return at + 1;
}

function endOfValue(text: string, from: number): number {
  if (text[from] === '"') return endOfString(text, from);
  let at = from;
  let depth = 0;
  while (at < text.length) {
    const char = text.charAt(at);
    if (char === '"') {
      at = endOfString(text, at);
      continue;
    }
    if (char === '{' || char === '[') depth++;
    if (char === '}' || char === ']') {
      if (depth === 0) break;
      depth--;
      if (depth === 0) return at + 1;
    }
    if (depth === 0 && (char === ',' || ' \n\r\t'.includes(char))) break;
    at++;
  }
  return at;
}
