/**
 * Parts of JSON text, as they stand there: parsing and writing again would round numbers that JavaScript cannot hold.
 * The text has been parsed before, so it is known to be JSON.
 */

/** The value of a member of an object; undefined if there is none. */
export function member(text: string, name: string): string | undefined {
  for (let at = skipBlank(text, skipBlank(text, 0) + 1); text[at] === '"';) {
    const end = skipString(text, at);
    const start = skipBlank(text, skipBlank(text, end) + 1);
    const after = skipValue(text, start);
    if (JSON.parse(text.slice(at, end)) === name) return text.slice(start, after);
    at = skipBlank(text, skipBlank(text, after) + 1);
  }
  return undefined;
}

/** The elements of an array. */
export function elements(text: string): string[] {
  const found: string[] = [];
  for (let at = skipBlank(text, skipBlank(text, 0) + 1); at < text.length && text[at] !== ']';) {
    const end = skipValue(text, at);
    found.push(text.slice(at, end));
    const comma = skipBlank(text, end);
    if (text[comma] !== ',') break;
    at = skipBlank(text, comma + 1);
  }
  return found;
}

function skipBlank(text: string, at: number): number {
  while (text[at] === ' ' || text[at] === '\n' || text[at] === '\r' || text[at] === '\t') at++;
  return at;
}

/** Where a value ends that begins at `at`. */
function skipValue(text: string, at: number): number {
  for (let depth = 0; at < text.length;) {
    const character = text[at] ?? '';
    if (character === '"') at = skipString(text, at);
    else if ('{['.includes(character)) [depth, at] = [depth + 1, at + 1];
    else if ('}]'.includes(character)) [depth, at] = [depth - 1, at + 1];
    else if (depth === 0) return skipSimple(text, at);
    else at++;
    if (depth === 0) return at;
  }
  return at;
}

function skipSimple(text: string, at: number): number {
  while (at < text.length && !',]} \n\r\t'.includes(text[at] ?? '')) at++;
  return at;
}

function skipString(text: string, at: number): number {
  for (let end = text.indexOf('"', at + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let escapes = 0;
    while (text[end - 1 - escapes] === '\\') escapes++;
    if (escapes % 2 === 0) return end + 1;
  }
  return text.length;
}
