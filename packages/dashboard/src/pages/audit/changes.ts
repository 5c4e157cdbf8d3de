import type { RateInput } from '@millrace/contract';
import { rateText } from '../../lib/limits.js';

/** One member that is not what it was. */
export interface Difference {
  readonly name: string;
  readonly was: string;
  readonly is: string;
}

/** What differs between two states of a thing, member by member; those that stayed the same are left out. */
export function changesOf(before: unknown, after: unknown): Difference[] {
  if (!isObject(before) && !isObject(after)) return difference('value', before, after);
  const [was, is] = [isObject(before) ? before : {}, isObject(after) ? after : {}];
  return [...new Set([...Object.keys(was), ...Object.keys(is)])].flatMap((name) =>
    difference(name, was[name], is[name]),
  );
}

const difference = (name: string, before: unknown, after: unknown): Difference[] => {
  const [was, is] = [words(before), words(after)];
  return was === is ? [] : [{ name, was, is }];
};

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const isRate = (value: unknown): value is RateInput =>
  isObject(value) && typeof value.count === 'number' && typeof value.per_secs === 'number';

function words(value: unknown): string {
  if (value === null || value === undefined) return 'none';
  if (isRate(value)) return rateText(value);
  if (isObject(value)) {
    return Object.entries(value)
      .map(([name, part]) => `${name.replaceAll('_', ' ')} ${words(part)}`)
      .join(', ');
  }
  return typeof value === 'string' ? value : JSON.stringify(value);
}
