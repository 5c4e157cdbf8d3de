import { editDistance } from '@millrace/sdk/rules';
import type { UnknownMember } from './shapes.js';

/** What somebody may have meant by a name that means nothing here. */

/** Words of other systems for what has a name of its own here. */
const OTHER_WORDS: ReadonlyMap<string, string> = new Map([
  ['args', 'payload'],
  ['arguments', 'payload'],
  ['data', 'payload'],
  ['input', 'payload'],
  ['params', 'payload'],
  ['job', 'task_name'],
  ['type', 'task_name'],
  ['eta', 'run_at'],
  ['scheduled_at', 'run_at'],
  ['start_at', 'run_at'],
  ['attempts', 'max_retries'],
  ['max_attempts', 'max_retries'],
  ['retries', 'max_retries'],
  ['backoff', 'retry_backoff'],
  ['jitter', 'jitter_factor'],
  ['cron', 'cron_expr'],
  ['schedule', 'cron_expr'],
  ['expression', 'cron_expr'],
  ['tz', 'timezone'],
  ['dependencies', 'depends_on'],
  ['needs', 'depends_on'],
  ['state', 'status'],
  ['per_page', 'limit'],
  ['page_size', 'limit'],
  ['count', 'limit'],
  ['sort', 'order_by'],
  ['since', 'created_after'],
  ['until', 'created_before'],
]);

/** A longer name resembles nothing here. */
const MAX_LENGTH = 40;

/** The path of what was probably meant, or null. `known`: the paths that mean something, with `[]` for a position. */
export function suggestion({ name, path, index }: UnknownMember, known: readonly string[]): string | null {
  if (name.length > MAX_LENGTH) return null;
  const own = index === null ? path : path.replace(`[${index}]`, '[]');
  // What stands beside it is nearer than the same name elsewhere only if it is spelled nearly the same.
  const nearest = [...known].sort((x, y) => distance(x, own) - distance(y, own));
  const found =
    nearest.find((candidate) => plain(lastOf(candidate)) === plain(name)) ??
    nearest.find((candidate) => lastOf(candidate) === OTHER_WORDS.get(name.toLowerCase())) ??
    nearest.find((candidate) => extendsOther(lastOf(candidate), name)) ??
    nearest.find((candidate) => isNear(plain(lastOf(candidate)), plain(name)));
  if (found === undefined) return null;
  return index === null ? found : found.replace('[]', `[${index}]`);
}

const lastOf = (path: string): string => path.slice(path.lastIndexOf('.') + 1);
const isBeside = (candidate: string, path: string): boolean =>
  candidate.startsWith(path) && !candidate.slice(path.length).includes('.');

/** Elsewhere, what is nearer to the top is more likely meant. */
const distance = (candidate: string, path: string): number =>
  isBeside(candidate, path) ? 0 : candidate.split('.').length;

/** `taskName`, `task-name` and `task_name` are one name. */
const plain = (name: string): string => name.toLowerCase().replaceAll(/[_\-. ]/g, '');

const extendsOther = (x: string, y: string): boolean => x.startsWith(`${y}_`) || y.startsWith(`${x}_`);

function isNear(x: string, y: string): boolean {
  const length = Math.max(x.length, y.length);
  const most = length < 4 ? 0 : length < 6 ? 1 : length < 10 ? 2 : 3;
  return Math.abs(x.length - y.length) <= most && editDistance(x, y) <= most;
}
