import { isUtf8 } from 'node:buffer';
import type { Answer } from './answer.js';
import type { Case } from './draft.js';
import type { Schema } from './schema.js';
import type { Tenant } from './tenants.js';
import type { World } from './valid.js';
import { mayWait, type Outcome } from './wire.js';

/** What must hold for every answer, whatever was asked. */
export interface Violation {
  readonly rule: string;
  readonly detail: string;
}

const violation = (rule: string, detail: string): Violation => ({ rule, detail });

/** Refusals that come before any route is known, and therefore stand in no operation's description. */
const PROTOCOL_STATUSES = [400, 408, 413, 415, 417, 431];

export function judge(world: World, each: Case, outcome: Outcome): Violation[] {
  switch (outcome.kind) {
    case 'hung':
      return mayWait(each) ? [] : [violation('no-answer', 'neither an answer nor an end of the connection')];
    case 'malformed':
      return [violation('malformed-answer', outcome.why)];
    case 'closed':
      return mustBeAnswered(each) ? [violation('no-answer', 'the connection was closed without an answer')] : [];
    case 'answered':
      return outcome.answers.flatMap((answer) => judgeAnswer(world, each, answer));
  }
}

/** A head that is too large may be cut off in the middle of sending it, and then the answer is lost on the way. */
const mustBeAnswered = ({ isRouted, kind }: Case): boolean =>
  isRouted && kind !== 'header.many' && kind !== 'header.long' && kind !== 'json.large';

function judgeAnswer(world: World, each: Case, answer: Answer): Violation[] {
  const { status } = answer;
  const findings: Violation[] = [...leaks(world, each, answer), ...wrongStatus(each, answer)];
  if (answer.headers.get('x-content-type-options') !== 'nosniff')
    findings.push(violation('headers', `${status} without nosniff`));
  if (status >= 500) findings.push(violation('server-error', `${status} ${text(answer, 300)}`));
  if (status >= 400) findings.push(...wrongError(world, each, answer));
  if (status < 400 && each.isRouted) findings.push(...wrongSuccess(world, each, answer), ...undeserved(world, each));
  return findings;
}

const text = ({ body }: Answer, length?: number): string => body.toString('utf8', 0, length);

/** The mark of a tenant may be seen by that tenant and by the workers, who serve all of them. */
function leaks({ callers }: World, { caller }: Case, answer: Answer): Violation[] {
  if (caller === 'worker') return [];
  const seen = `${[...answer.headers.values()].join('\n')}\n${text(answer)}`;
  const isForeign = (tenant: Tenant): boolean => tenant !== caller && seen.includes(tenant.mark);
  return callers.tenants
    .filter(isForeign)
    .map(({ name }) => violation('leak', `something of ${name} is in the answer`));
}

function wrongStatus({ kind, onlyStatuses, operation, isRouted, draft }: Case, { status }: Answer): Violation[] {
  if (onlyStatuses !== undefined && !onlyStatuses.includes(status)) {
    return [violation('status', `${status} instead of ${onlyStatuses.join(' or ')}`)];
  }
  const refusals = [400, 401, 403, 413, 415];
  if (kind === 'none' && refusals.includes(status)) return [violation('refused-valid', `${status} to a valid request`)];
  const isDocumented = Object.hasOwn(operation.responses, String(status));
  const isProtocol = /^(header|line)\./.test(kind) && PROTOCOL_STATUSES.includes(status);
  if (!isRouted || isDocumented || isProtocol || status >= 500) return [];
  return [violation('undocumented-status', `${draft.method} ${operation.path} answered ${status}`)];
}

function wrongError({ checker }: World, { draft }: Case, answer: Answer): Violation[] {
  if (draft.method === 'HEAD') return [];
  const type = answer.headers.get('content-type') ?? '';
  if (!type.startsWith('application/json')) return [violation('error-shape', `${answer.status} of type ${type}`)];
  return shapeProblems(checker.problems.bind(checker), { $ref: '#/components/schemas/Error' }, answer, 'error-shape');
}

type Problems = (schema: Schema, value: unknown) => string[];

function shapeProblems(problems: Problems, schema: Schema, answer: Answer, rule: string): Violation[] {
  let value: unknown;
  try {
    value = JSON.parse(text(answer));
  } catch {
    return [violation(rule, `${answer.status} with a body that is not JSON: ${text(answer, 100)}`)];
  }
  const [first] = problems(schema, value);
  return first === undefined ? [] : [violation(rule, `${answer.status}: ${first}`)];
}

function wrongSuccess({ checker }: World, { operation, draft }: Case, answer: Answer): Violation[] {
  const response = operation.responses[String(answer.status)];
  const problems = checker.problems.bind(checker);
  if (response === undefined || draft.method === 'HEAD') return [];
  const json = response.content?.['application/json']?.schema;
  if (json !== undefined) return shapeProblems(problems, json, answer, 'schema');
  if (response.content?.['text/event-stream'] !== undefined) {
    const [, data] = /^event: status\ndata: (.*)\n\n/.exec(text(answer)) ?? [];
    if (data === undefined)
      return [violation('schema', `a stream that begins with ${JSON.stringify(text(answer, 80))}`)];
    const event = { ...answer, body: Buffer.from(data) };
    return shapeProblems(problems, { $ref: '#/components/schemas/Job' }, event, 'schema');
  }
  return answer.body.length === 0 ? [] : [violation('schema', `${answer.status} with a body`)];
}

/** A success that the request did not deserve: by its own description, the service should have refused the body. */
function undeserved({ checker }: World, { operation, draft, kind }: Case): Violation[] {
  const { body: schema } = operation;
  if (schema === null || draft.body === null || /^(header|line)\./.test(kind)) return [];
  if (draft.body.length === 0 && operation.id === 'leaseJobs') return [];
  if (!isUtf8(draft.body)) return [violation('accepted-invalid', 'a body that is not UTF-8')];
  let value: unknown;
  try {
    value = JSON.parse(draft.body.toString('utf8').replace(/^\ufeff/, ''));
  } catch {
    return [violation('accepted-invalid', 'a body that is not JSON')];
  }
  const [first] = checker.problems(schema, value);
  return first === undefined ? [] : [violation('accepted-invalid', first)];
}
