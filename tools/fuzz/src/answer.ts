/** One HTTP answer, parsed from bytes as they arrive. */
export interface Answer {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: Buffer;
  /** An event stream that stays open: only its first event is awaited. */
  readonly isOpen: boolean;
}

export class MalformedAnswer extends Error {}

interface Parsed {
  readonly answer: Answer;
  readonly rest: Buffer;
}

const HEAD_END = '\r\n\r\n';

/** The first complete answer in `bytes`, or null if more bytes are needed. `isEnd` says that no more will come. */
export function parseAnswer(bytes: Buffer, method: string, isEnd: boolean): Parsed | null {
  const end = bytes.indexOf(HEAD_END);
  if (end < 0) {
    if (isEnd && bytes.length > 0)
      throw new MalformedAnswer('the connection ended in the middle of the head of an answer');
    return null;
  }
  const { status, headers } = parseHead(bytes.toString('latin1', 0, end));
  const after = bytes.subarray(end + HEAD_END.length);
  if (status >= 100 && status < 200) return parseAnswer(after, method, isEnd);
  const whole = (body: Buffer, rest: Buffer, isOpen = false): Parsed => ({
    answer: { status, headers, body, isOpen },
    rest,
  });
  if (method === 'HEAD' || status === 204 || status === 304) return whole(Buffer.alloc(0), after);
  const isStream = headers.get('content-type')?.startsWith('text/event-stream') === true;
  if (headers.get('transfer-encoding') === 'chunked') {
    const { body, rest } = unchunked(after);
    if (rest !== null) return whole(body, rest);
    if (isStream && body.includes('\n\n')) return whole(body, Buffer.alloc(0), true);
  } else if (headers.has('content-length')) {
    const length = Number(headers.get('content-length'));
    if (!Number.isSafeInteger(length)) throw new MalformedAnswer('the answer has an invalid Content-Length');
    if (after.length >= length) return whole(after.subarray(0, length), after.subarray(length));
  } else if (isEnd) {
    return whole(after, Buffer.alloc(0));
  } else if (isStream && after.includes('\n\n')) {
    return whole(after, Buffer.alloc(0), true);
  }
  if (isEnd) throw new MalformedAnswer('the connection ended in the middle of the body of an answer');
  return null;
}

function parseHead(text: string): Pick<Answer, 'status' | 'headers'> {
  const [line = '', ...fields] = text.split('\r\n');
  const [, status] = /^HTTP\/1\.1 (\d{3}) ./.exec(line) ?? [];
  if (status === undefined) throw new MalformedAnswer(`the answer begins with ${JSON.stringify(line.slice(0, 60))}`);
  const headers = new Map<string, string>();
  for (const field of fields) {
    const [, name, value] = /^([\w!#$%&'*+.^`|~-]+):\s*([^\0\r\n]*)$/.exec(field) ?? [];
    if (name === undefined || value === undefined) {
      throw new MalformedAnswer(`the answer has a header ${JSON.stringify(field.slice(0, 60))}`);
    }
    headers.set(name.toLowerCase(), value.trim());
  }
  return { status: Number(status), headers };
}

/** `rest` is null until the last chunk has arrived. */
function unchunked(bytes: Buffer): { readonly body: Buffer; readonly rest: Buffer | null } {
  const chunks: Buffer[] = [];
  let at = 0;
  for (;;) {
    const lineEnd = bytes.indexOf('\r\n', at);
    if (lineEnd < 0) return { body: Buffer.concat(chunks), rest: null };
    const size = Number.parseInt(bytes.toString('latin1', at, lineEnd), 16);
    if (!Number.isSafeInteger(size)) throw new MalformedAnswer('the answer has a chunk without a size');
    const next = lineEnd + 2 + size + 2;
    if (bytes.length < next) return { body: Buffer.concat(chunks), rest: null };
    chunks.push(bytes.subarray(lineEnd + 2, lineEnd + 2 + size));
    at = next;
    if (size === 0) return { body: Buffer.concat(chunks), rest: bytes.subarray(at) };
  }
}
