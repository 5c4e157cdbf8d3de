import type { Attempt, AttemptOutcome, Checkpoint, Job, LogLevel } from '@millrace/contract';
import type { AnyState } from '../../lib/states.js';
import { endingOf } from './moments.js';

/** A line of the timeline that has one instant. */
export interface MomentRow {
  readonly kind: 'moment';
  readonly key: string;
  readonly words: string;
  readonly state: AnyState;
  /** Null: now. */
  readonly at: number | null;
}

/** A line of the timeline that has a length. */
export interface AttemptRow {
  readonly kind: 'attempt';
  readonly key: string;
  readonly number: number;
  readonly outcome: AttemptOutcome;
  readonly worker: string | null;
  /** When it could have begun: it waited for a worker from then on. */
  readonly readyAt: number;
  readonly from: number;
  readonly to: number;
  readonly steps: readonly { readonly name: string; readonly at: number }[];
  readonly lines: readonly LogMark[];
  readonly lineCount: number;
}

export type Row = MomentRow | AttemptRow;

/** What was written at about the same time: the worst of it counts. */
export interface LogMark {
  readonly at: number;
  readonly level: LogLevel;
}

export interface LoggedLine {
  readonly attempt: number;
  readonly at: string;
  readonly level: LogLevel;
}

/** In the order of time: created, due, every attempt, and how it ended or goes on. */
export function rowsOf(
  job: Job,
  attempts: readonly Attempt[],
  /** Undefined: the server does not say. */
  firstDueAt: string | undefined,
  checkpoints: readonly Checkpoint[],
  lines: readonly LoggedLine[],
  now: number,
): Row[] {
  const created = Date.parse(job.created_at);
  const firstDue = firstDueAt === undefined ? dueOf(job, attempts) : Date.parse(firstDueAt);
  const due = firstDue !== null && firstDue > created ? firstDue : null;
  const rows: Row[] = [{ kind: 'moment', key: 'created', words: 'created', state: 'created', at: created }];
  if (due !== null && attempts.length > 0)
    rows.push({ kind: 'moment', key: 'due', words: 'due', state: 'scheduled', at: due });
  let readyAt = Math.max(created, due ?? created);
  for (const attempt of attempts) {
    if (attempt.started_at === null) continue;
    const from = Date.parse(attempt.started_at);
    const to = attempt.ended_at === null ? Math.max(now, from) : Date.parse(attempt.ended_at);
    const own = lines.filter(({ attempt: number }) => number === attempt.number);
    rows.push({
      kind: 'attempt',
      key: `attempt ${attempt.number}`,
      number: attempt.number,
      outcome: attempt.outcome,
      worker: attempt.worker_id,
      readyAt: Math.min(readyAt, from),
      from,
      to,
      steps: checkpoints
        .filter((stored) => stored.attempt === attempt.number)
        .map(({ name, at }) => ({ name, at: Date.parse(at) })),
      lines: marksOf(own, from, to),
      lineCount: own.length,
    });
    readyAt = Date.parse(attempt.next_retry_at ?? attempt.ended_at ?? attempt.started_at);
  }
  for (const { key, words, at, state } of endingOf(job))
    rows.push({ kind: 'moment', key, words, state, at: at === null ? null : Date.parse(at) });
  return rows;
}

/** When it was due at first, as far as the job itself tells: a retry sets it anew. */
function dueOf({ scheduled_at, status }: Job, attempts: readonly Attempt[]): number | null {
  if (attempts.length > 1 || (attempts.length === 1 && (status === 'retrying' || status === 'pending'))) return null;
  return Date.parse(scheduled_at);
}

const MARKS = 60;
const WORST: readonly LogLevel[] = ['debug', 'info', 'warn', 'error'];

/** At most so many marks for however many lines. Lines from outside of the attempt have the time of another clock. */
export function marksOf(lines: readonly LoggedLine[], from: number, to: number): LogMark[] {
  const marks = new Map<number, LogMark>();
  for (const { at: text, level } of lines) {
    const at = Date.parse(text);
    if (!(at >= from && at <= to)) continue;
    const slot = to === from ? 0 : Math.floor((MARKS * (at - from)) / (to - from));
    const before = marks.get(slot);
    if (before === undefined || WORST.indexOf(level) > WORST.indexOf(before.level)) marks.set(slot, { at, level });
  }
  return [...marks.values()];
}
