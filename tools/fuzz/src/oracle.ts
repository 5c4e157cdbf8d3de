import { isUtf8 } from 'node:buffer';
import type { Answer } from './answer.js';
import type { Case } from './draft.js';
import { mayWait, type Outcome } from './raw-client.js';
import type { Schema } from './schema.js';
import type { Tenant } from './tenants.js';
import type { World } from './valid.js';

export interface Violation {
  readonly rule: string;
  readonly detail: string;
}

const violation = (rule: string, detail: string): Violation => ({ rule, detail });

/** Refusals that happen before a route is known, so no operation documents them. */
const PROTOCOL_STATUSES = [400, 408, 413, 415, 417, 431];

/** A body in chunks is as good as one with a length. */
const VALID = new Set(['none', 'chunked.valid']);

/** What is wrong with the outcome of a request: the rules that hold for every answer, whatever was asked. */
export function judge(world: World, testCase: Case, outcome: Outcome): Violation[] {
  switch (outcome.kind) {
    case 'hung':
      return mayWait(testCase) ? [] : [violation('no-answer', 'neither answered nor closed')];
    case 'malformed':
      return [violation('malformed-answer', outcome.why)];
    case 'closed':
      return mustBeAnswered(testCase) ? [violation('no-answer', 'closed without an answer')] : [];
    case 'answered':
      return outcome.answers.flatMap((answer) => judgeAnswer(world, testCase, answer));
  }
}

/** The server may cut off a request that is too large while it is still being sent; the answer is then lost. */
const MAY_BE_CUT_OFF = new Set(['header.many', 'header.long', 'json.large', 'chunked.large', 'chunked.pieces']);

const mustBeAnswered = ({ isRouted, kind }: Case): boolean => isRouted && !MAY_BE_CUT_OFF.has(kind);

function judgeAnswer(world: World, testCase: Case, answer: Answer): Violation[] {
  const { status } = answer;
  const findings: Violation[] = [...leaks(world, testCase, answer), ...wrongStatus(testCase, answer)];
  if (answer.headers.get('x-content-type-options') !== 'nosniff')
    findings.push(violation('headers', `${status} without nosniff`));
  if (status >= 500) findings.push(violation('server-error', `${status} ${text(answer, 300)}`));
  if (status >= 400) findings.push(...wrongError(world, testCase, answer));
  if (status < 400 && testCase.isRouted) {
    findings.push(...wrongSuccess(world, testCase, answer), ...undeserved(world, testCase));
  }
  return findings;
}

/** Operations that take a body, and do without one. */
const MAY_BE_EMPTY: ReadonlySet<string> = new Set([
  ...['leaseJobs', 'signalJob', 'signalWorkflow'],
  ...['rerunJob', 'replayDeadLetter', 'resumeWorkflow', 'pauseQueue'],
]);

const text = ({ body }: Answer, length?: number): string => body.toString('utf8', 0, length);

/** A tenant's mark may be seen only by that tenant, and by workers and operators, who serve all tenants. */
function leaks({ callers }: World, { caller }: Case, answer: Answer): Violation[] {
  if (caller === 'worker' || caller === 'admin') return [];
  const seen = `${[...answer.headers.values()].join('\n')}\n${text(answer)}`;
  const isForeign = (tenant: Tenant): boolean => tenant !== caller && seen.includes(tenant.mark);
  return callers.tenants.filter(isForeign).map(({ name }) => violation('leak', `the answer contains data of ${name}`));
}

function wrongStatus({ kind, onlyStatuses, operation, isRouted, draft }: Case, answer: Answer): Violation[] {
  const { status } = answer;
  if (onlyStatuses !== undefined && !onlyStatuses.includes(status)) {
    return [violation('status', `${status} instead of ${onlyStatuses.join(' or ')}`)];
  }
  const refusals = [400, 401, 403, 413, 415];
  if (VALID.has(kind) && refusals.includes(status))
    return [violation('refused-valid', `${status} to a valid request: ${reasonOf(answer)}`)];
  const isDocumented = Object.hasOwn(operation.responses, String(status));
  const isProtocol = /^(header|line)\./.test(kind) && PROTOCOL_STATUSES.includes(status);
  if (!isRouted || isDocumented || isProtocol || status >= 500) return [];
  return [violation('undocumented-status', `${draft.method} ${operation.path} answered ${status}`)];
}

/** Why it was refused: a smaller request fails alike only if it is refused for the same reason. */
const reasonOf = (answer: Answer): string => /"error":("(?:[^"\\]|\\.)*")/.exec(text(answer))?.[1] ?? text(answer, 100);

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
    // The first event of a large job takes a while, and nobody waits for all of it.
    if (/^event: status\ndata: [^\n]*$/.test(text(answer))) return [];
    const [, data] = /^event: status\ndata: (.*)\n\n/.exec(text(answer)) ?? [];
    if (data === undefined) return [violation('schema', `the stream begins with ${JSON.stringify(text(answer, 80))}`)];
    const event = { ...answer, body: Buffer.from(data) };
    const shape = operation.id === 'watchWorkflow' ? 'WorkflowEvent' : 'Job';
    return shapeProblems(problems, { $ref: `#/components/schemas/${shape}` }, event, 'schema');
  }
  return answer.body.length === 0 ? [] : [violation('schema', `${answer.status} with a body`)];
}

/** A success for a body that, by its own description, the service should have refused. */
function undeserved({ checker }: World, { operation, draft, kind }: Case): Violation[] {
  const { body: schema } = operation;
  if (schema === null || draft.body === null || /^(header|line|chunked)\./.test(kind)) return [];
  if (draft.body.length === 0 && MAY_BE_EMPTY.has(operation.id)) return [];
  if (!isUtf8(draft.body)) return [violation('accepted-invalid', 'a body that is not UTF-8')];
  let value: unknown;
  try {
    value = JSON.parse(draft.body.toString('utf8').replace(/^\ufeff/, ''));
  } catch {
    return [violation('accepted-invalid', 'a body that is not JSON')];
  }
  const [first] = checker
    .problems(schema, value)
    .filter((problem) => !isJudgedAlone(operation.id, problem) && problem !== TOO_MANY_LINES);
  return first === undefined ? [] : [violation('accepted-invalid', first)];
}

/** Lines beyond the limit are left out, never refused: that would cost the report. */
const TOO_MANY_LINES = '$.logs is too long';

/** What is wrong within an item of such a call is answered in its place, and the call succeeds. */
const isJudgedAlone = (operation: string, problem: string): boolean =>
  (operation === 'heartbeatJobs' || operation === 'reportJobs') && /^\$\.(leases|reports)\[/.test(problem);
