import type { Answer } from './upstream.js';

const INSTANT = /"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z)"/g;

/** An answer of a server whose clock is off: every instant in it, and its `Date`, moved by that many milliseconds. */
export function moveInstants(answer: Answer, ms: number): Answer {
  const { date } = answer.headers;
  return {
    status: answer.status,
    headers:
      typeof date === 'string'
        ? { ...answer.headers, date: new Date(Date.parse(date) + ms).toUTCString() }
        : answer.headers,
    body: answer.body.replace(INSTANT, (_, at: string) => `"${new Date(Date.parse(at) + ms).toISOString()}"`),
  };
}
