import { CONDITION_TEXT_MAX_LENGTH, type Otherwise } from '@millrace/contract';
import { groupBy } from './group-by.js';
import { membersNamed, rawFields, rawItems } from './raw-json.js';

/**
 * Whether a step of a workflow runs, by a value in the context. Values are compared as their source texts mean them:
 * numbers by value, however they are written and however large they are.
 */
export interface Condition {
  /** The path begins at the result of this step; null: at the context. */
  readonly step: string | null;
  readonly path: readonly string[];
  /** Whether it holds if the value is among `values`, or if it is not. */
  readonly isAmong: boolean;
  readonly values: ReadonlySet<Comparable>;
  readonly otherwise: Otherwise;
}

/** A scalar in a form that is equal exactly if the value is. */
type Comparable = string;

/** Of everything that no condition can name: objects, lists and texts that are too long. */
const INCOMPARABLE: Comparable = 'x';
const NULL: Comparable = 'null';
/** A character takes six at most, as an escape; a pair of surrogates is one of the text's characters. */
const LONGEST_TEXT = 12 * CONDITION_TEXT_MAX_LENGTH + 2;

/** A condition from its JSON, which has been checked: the comparison is the one of the three that is there. */
export function readCondition(text: string): Condition {
  const [ref = '{}', is, isNot, among, otherwise] = rawFields(text, ['ref', 'is', 'is_not', 'in', 'otherwise']);
  const { $step: step, path } = JSON.parse(ref) as { $step?: string | null; path?: string[] | null };
  const single = is ?? isNot;
  const values = single === undefined ? rawItems(among ?? '[]') : [single];
  return {
    step: step ?? null,
    path: path ?? [],
    isAmong: isNot === undefined,
    values: new Set(values.map(comparable)),
    otherwise: otherwise === '"continue"' ? 'continue' : 'skip',
  };
}

/** What a scalar is, as text: the same for 1, 1.0 and 1e0. */
export function comparable(text: string): Comparable {
  const first = text.charAt(0);
  if (first === '"') return text.length > LONGEST_TEXT ? INCOMPARABLE : `s${JSON.parse(text) as string}`;
  if (first === '{' || first === '[') return INCOMPARABLE;
  return first === '-' || isDigit(first) ? numberText(text) : text;
}

const isDigit = (character: string): boolean => character >= '0' && character <= '9';

const NUMBER = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?)0*(\d*))?$/;
/** An exponent of more digits is compared as it is written: nobody means the number. */
const EXPONENT_DIGITS = 15;

/** Sign, digits without zeros at the ends, and the exponent of the last digit. */
function numberText(text: string): Comparable {
  const [, sign = '', whole = '', fraction = '', exponentSign = '', exponent = ''] = NUMBER.exec(text) ?? [];
  if (exponent.length > EXPONENT_DIGITS) return `n${text}`;
  const all = `${whole}${fraction}`;
  const trimmed = withoutZerosAtTheEnd(all);
  const digits = trimmed.replace(/^0+/, '');
  if (digits === '') return 'n0';
  const scale = Number(`${exponentSign}${exponent === '' ? '0' : exponent}`);
  return `n${sign}${digits}e${scale - fraction.length + (all.length - trimmed.length)}`;
}

function withoutZerosAtTheEnd(digits: string): string {
  let end = digits.length;
  while (end > 0 && digits.charCodeAt(end - 1) === 0x30) end--;
  return digits.slice(0, end);
}

/**
 * Which of the conditions hold, in their order. `hasCompleted`: whether a step has a result; without one, what a
 * condition finds there is null. The context may be large and the conditions many, so each part of it is looked at once
 * per level, however many paths lead through it.
 */
export function judge(
  context: string,
  conditions: readonly Condition[],
  hasCompleted: (step: string) => boolean,
): boolean[] {
  const found = new Array<Comparable>(conditions.length).fill(NULL);
  const sought = conditions.flatMap(({ step, path }, index) =>
    step !== null && !hasCompleted(step) ? [] : [{ index, path: step === null ? path : [step, ...path] }],
  );
  lookUp(context, sought, 0, found);
  return conditions.map(({ values, isAmong }, index) => values.has(found[index]!) === isAmong);
}

interface Sought {
  readonly index: number;
  readonly path: readonly string[];
}

function lookUp(text: string, sought: readonly Sought[], depth: number, found: Comparable[]): void {
  const here = sought.filter(({ path }) => path.length === depth);
  if (here.length > 0) {
    const value = comparable(text);
    for (const { index } of here) found[index] = value;
  }
  if (here.length === sought.length || !text.startsWith('{')) return;
  const deeper = sought.filter(({ path }) => path.length > depth);
  const byKey = groupBy(deeper, ({ path }) => path[depth]!);
  for (const [key, value] of membersNamed(text, byKey)) lookUp(value, byKey.get(key)!, depth + 1, found);
}
