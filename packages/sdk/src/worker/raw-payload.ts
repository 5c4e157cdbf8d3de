/**
 * Finds the payload of one job in the text of a lease's answer, for handlers that ask for it as it was sent. The text
 * has been parsed before, so it is known to be JSON.
 */
export function rawPayload(answer: string, index: number): string {
  const jobs = memberAt(answer, skipBlank(answer, 0), 'jobs');
  let at = skipBlank(answer, jobs + 1);
  for (let passed = 0; passed < index; passed++) at = afterComma(answer, skipValue(answer, at));
  const start = memberAt(answer, memberAt(answer, at, 'job'), 'payload');
  return answer.slice(start, skipValue(answer, start));
}

/** Where the value of a member begins; `at` is the opening brace. */
function memberAt(text: string, at: number, name: string): number {
  for (let next = skipBlank(text, at + 1); text[next] === '"';) {
    const end = skipString(text, next);
    const value = afterComma(text, end);
    if (JSON.parse(text.slice(next, end)) === name) return value;
    next = afterComma(text, skipValue(text, value));
  }
  throw new SyntaxError(`the answer of the server has no ${name}`);
}

/** Where the next thing begins after the comma or colon that follows. */
const afterComma = (text: string, at: number): number => skipBlank(text, skipBlank(text, at) + 1);

function skipBlank(text: string, at: number): number {
  while (text[at] === ' ' || text[at] === '\n' || text[at] === '\r' || text[at] === '\t') at++;
  return at;
}

/** Where a value ends that begins at `at`. */
function skipValue(text: string, at: number): number {
  let depth = 0;
  for (;;) {
    const character = text[at];
    if (character === undefined) throw new SyntaxError('the answer of the server ends too early');
    if (character === '"') at = skipString(text, at);
    else if (character === '{' || character === '[') {
      depth++;
      at++;
    } else if (character === '}' || character === ']') {
      depth--;
      at++;
    } else if (depth > 0) at++;
    else return skipSimple(text, at);
    if (depth === 0) return at;
  }
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
  throw new SyntaxError('the answer of the server ends too early');
}
