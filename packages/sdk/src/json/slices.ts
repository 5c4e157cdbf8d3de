/**
 * Parts of JSON text, as they stand there: parsing and writing again would round numbers that JavaScript cannot hold,
 * and drop the zero of `1.10`. The service has a scanner of its own, which every payload goes through
 * (packages/server/src/domain/raw-json.ts); this one is smaller, and ends whatever it is given.
 */

/**
 * The text of one member of the object that `text` is, for JSON that `millrace.raw` answered. Undefined if `text` is no
 * object or has no such member. The text must be valid JSON.
 *
 * @example
 * jsonMember('{"n": 9007199254740993}', 'n'); // '9007199254740993'
 */
export function jsonMember(text: string, name: string): string | undefined {
  const open = skipBlank(text, 0);
  if (text[open] !== '{') return undefined;
  for (let at = skipBlank(text, open + 1); text[at] === '"';) {
    const end = skipString(text, at);
    const start = afterSeparator(text, end);
    const after = skipValue(text, start);
    if (JSON.parse(text.slice(at, end)) === name) return text.slice(start, after);
    at = afterSeparator(text, after);
  }
  return undefined;
}

/**
 * The texts of the elements of the array that `text` is, one after the other; none if it is no array. The text must be
 * valid JSON.
 *
 * @example
 * [...jsonElements('[1.10, {"a": 2}]')]; // ['1.10', '{"a": 2}']
 */
export function* jsonElements(text: string): Generator<string, void, undefined> {
  const open = skipBlank(text, 0);
  if (text[open] !== '[') return;
  for (let at = skipBlank(text, open + 1); at < text.length && text[at] !== ']';) {
    const end = skipValue(text, at);
    yield text.slice(at, end);
    const comma = skipBlank(text, end);
    if (text[comma] !== ',') return;
    at = skipBlank(text, comma + 1);
  }
}

/** Where the next thing begins after the comma or colon that follows. */
const afterSeparator = (text: string, at: number): number => skipBlank(text, skipBlank(text, at) + 1);

function skipBlank(text: string, at: number): number {
  while (text[at] === ' ' || text[at] === '\n' || text[at] === '\r' || text[at] === '\t') at++;
  return at;
}

/** Where a value ends that begins at `at`. */
function skipValue(text: string, at: number): number {
  for (let depth = 0; at < text.length;) {
    const character = text[at];
    if (character === '"') at = skipString(text, at);
    else if (character === '{' || character === '[') [depth, at] = [depth + 1, at + 1];
    else if (character === '}' || character === ']') [depth, at] = [depth - 1, at + 1];
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
