import { batchOf, type Call } from './calls.js';
import { codeOf, errorBody, type Action } from './rules.js';
import type { Answer } from './upstream.js';

/** Sends the call to the server, with another body if one is given. */
export type Pass = (body?: string) => Promise<Answer>;

/** What the worker gets to see of a call: an answer, a closed connection, or nothing at all. */
export type Seen = Answer | 'closed' | 'silence';

export async function perform(action: Action | undefined, call: Call, pass: Pass): Promise<Seen> {
  switch (action?.do) {
    case undefined:
      return pass();
    case 'swallow':
      await pass();
      return 'closed';
    case 'ignore':
      return 'silence';
    case 'drop':
      return 'closed';
    case 'answer':
      return refusal(action.status, action.retryAfterSecs);
    case 'refuse':
      return refuse(action, call, pass);
  }
}

const JSON_TYPE = { 'content-type': 'application/json' };

function refusal(status: number, retryAfterSecs?: number): Answer {
  const retryAfter = retryAfterSecs === undefined ? {} : { 'retry-after': String(retryAfterSecs) };
  return { status, headers: { ...JSON_TYPE, ...retryAfter }, body: errorBody(status) };
}

/** A plain call is about one job and refused whole. Of a gathered call, the other members reach the server. */
async function refuse(action: Extract<Action, { do: 'refuse' }>, call: Call, pass: Pass): Promise<Answer> {
  const isRefused = call.items.map((item) => action.items(item));
  const list = batchOf(call);
  if (!isRefused.includes(true)) return pass();
  if (list === undefined) return refusal(action.status);
  const sent = JSON.parse(call.body) as Record<string, unknown[]>;
  const rest = (sent[list] ?? []).filter((_, index) => isRefused[index] === false);
  const answer = rest.length === 0 ? null : await pass(JSON.stringify({ ...sent, [list]: rest }));
  if (answer !== null && answer.status !== 200) return answer;
  const accepted = answer === null ? [] : ((JSON.parse(answer.body) as Record<string, unknown[]>)[list] ?? []);
  const results = call.items.map(({ jobId }, index) =>
    isRefused[index] === true ? { job_id: jobId, code: codeOf(action.status) } : accepted.shift(),
  );
  return { status: 200, headers: JSON_TYPE, body: JSON.stringify({ [list]: results }) };
}
