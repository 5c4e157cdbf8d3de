import type { Random } from '@millrace/tools-shared';
import { withHeader } from '../draft.js';
import { isObject, pathsOf, RawText, replaced, valueAt, type Json, type Path } from '../json.js';
import type { Parameter } from '../openapi.js';
import { caseOf, draftOf, targetOf, type Blank } from '../valid.js';
import type { Mutation, Mutations } from './types.js';

/** Instants where clocks begin and end, and numbers beyond their range: what is accepted must not hurt later. */

const INSTANTS = [
  '0001-01-01T00:00:00Z',
  '0001-01-01T23:59:59.999999+23:59',
  '1601-01-01T00:00:00Z',
  '1950-01-01T00:00:00Z',
  '1969-12-31T23:59:59.999999Z',
  '1970-01-01T00:00:00Z',
  '2000-02-29T23:59:60Z',
  '2038-01-19T03:14:08Z',
  '2262-04-11T23:47:16.854775808Z',
  '9999-12-31T00:00:00-23:59',
  '9999-12-31T23:59:59.999999Z',
];

const NUMBERS = ['-1', '1.5', '101', '1001', '86401', '31536001', '2147483648', '-2147483649', '1e3', '9e18', '1e400'];

/** Where a job says when it is due. */
const jobInstant: Mutation = (blank, random) => {
  const jobs = jobsIn(blank);
  if (blank.body === undefined || jobs.length === 0) return null;
  const path = [...random.pick(jobs), 'run_at'];
  const without = replaced(blank.body, [...path.slice(0, -1), 'delay_secs'], undefined);
  const body = replaced(without, path, random.pick(INSTANTS));
  return caseOf({ ...blank, body }, 'instant.job');
};

function jobsIn({ operation, body }: Blank): readonly Path[] {
  if (operation.id === 'createJob') return [[]];
  if (operation.id !== 'createJobBatch') return [];
  const { jobs } = body as { jobs: readonly Json[] };
  return jobs.flatMap((job, n) => (isObject(job) ? [['jobs', n]] : []));
}

const queryInstant: Mutation = (blank, random) => {
  const names = queryParameters(blank).filter(({ schema }) => schema.format === 'date-time');
  if (names.length === 0) return null;
  const query = [...needed(blank), ...names.map(({ name }) => [name, random.pick(INSTANTS)] as const)];
  return caseOf(blank, 'instant.query', { ...draftOf(blank), target: targetOf({ ...blank, query }) });
};

/** Clamped and told of; refused by whoever prefers that. */
const queryRange: Mutation = (blank, random) => {
  // A wait would be clamped to half a minute.
  const bounded = queryParameters(blank).filter(({ name, schema }) => isBounded(schema) && name !== 'wait_secs');
  if (bounded.length === 0) return null;
  const { name, schema } = random.pick(bounded);
  const query = [...needed(blank), [name, beyond(schema, random)] as const];
  const draft = { ...draftOf(blank), target: targetOf({ ...blank, query }) };
  const isTold = blank.operation.parameters.some((parameter) => parameter.name === 'Prefer');
  if (!isTold) return caseOf(blank, 'range.query', draft);
  if (random.chance(0.5)) return caseOf(blank, 'range.query', draft, { onlyStatuses: [200, 403, 404] });
  return caseOf(blank, 'range.strict', withHeader(draft, 'Prefer', 'handling=strict'), { onlyStatuses: [400] });
};

const queryParameters = ({ operation }: Blank): readonly Parameter[] =>
  operation.parameters.filter((parameter) => parameter.in === 'query');

/** Without it the request would be refused for another reason. */
const needed = ({ query }: Blank): Blank['query'] => query.filter(([name]) => name === 'expr');

const isBounded = ({ type, minimum }: Parameter['schema']): boolean => type === 'integer' && minimum !== undefined;

function beyond({ minimum, maximum }: Parameter['schema'], random: Random): string {
  const below = [Number(minimum) - 1, -1_000_000_000];
  const above = maximum === undefined ? [] : [Number(maximum) + 1, 2_147_483_648];
  return String(random.pick([...below, ...above]));
}

const bodyRange: Mutation = (blank, random) => {
  if (blank.body === undefined) return null;
  const { body } = blank;
  const numbers = pathsOf(body).filter((path) => typeof valueAt(body, path) === 'number');
  if (numbers.length === 0) return null;
  const edited = replaced(body, random.pick(numbers), new RawText(random.pick(NUMBERS)));
  return caseOf({ ...blank, body: edited }, 'range.body');
};

export const EDGE_MUTATIONS: Mutations = {
  'instant.job': jobInstant,
  'instant.query': queryInstant,
  'range.query': queryRange,
  'range.body': bodyRange,
};
