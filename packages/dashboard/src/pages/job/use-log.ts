import type { JobLogs, LogLine } from '@millrace/contract';
import { useEffect, useState } from 'react';
import { useRead } from '../../api/hooks.js';
import { elementsOf, membersOf } from '../../lib/json/slice.js';

/** A line as it is shown: its fields as they were sent, to the byte; null if there are none. */
export interface ShownLine extends Omit<LogLine, 'fields'> {
  readonly fields: string | null;
}

export interface Log {
  readonly lines: readonly ShownLine[];
  /** How many were not kept by the server. */
  readonly omitted: number;
  /** How many of those that were read are not held any more. */
  readonly dropped: number;
}

/** The last ones; a handler may write for hours. */
const MOST_LINES = 5_000;

interface Held {
  readonly lines: readonly ShownLine[];
  readonly dropped: number;
  /** Where the next page begins. */
  readonly after: string | undefined;
}

const NOTHING: Held = { lines: [], dropped: 0, after: undefined };

/** The log of a job, page after page, and then as it grows until the job has ended. A job nobody held has none. */
export function useLog(jobId: string, wasHeld: boolean): Log {
  const [held, setHeld] = useState(NOTHING);
  const { answer } = useRead<JobLogs>(`/jobs/${jobId}/logs`, {
    query: { after: held.after },
    until: ({ next }) => next === undefined,
    enabled: wasHeld,
    keepPrevious: false,
  });
  useEffect(() => {
    if (answer !== undefined) setHeld((before) => withPage(before, answer.data, answer.text));
  }, [answer]);
  const [omitted, setOmitted] = useState(0);
  if (answer !== undefined && answer.data.omitted !== omitted) setOmitted(answer.data.omitted);
  return { lines: held.lines, dropped: held.dropped, omitted };
}

/** Pages may come twice: an effect runs again, and so does a question. What is held already is not added. */
function withPage(held: Held, { lines, next }: JobLogs, text: string): Held {
  const last = held.lines.at(-1);
  const isNew = ({ attempt, seq }: LogLine): boolean =>
    last === undefined || attempt > last.attempt || (attempt === last.attempt && seq > last.seq);
  const raw = elementsOf(membersOf(text).get('lines') ?? '[]');
  const added = lines.flatMap((line, n): ShownLine[] =>
    isNew(line) ? [{ ...line, fields: fieldsIn(raw[n] ?? '{}') }] : [],
  );
  if (added.length === 0) return held;
  const all = [...held.lines, ...added];
  const over = Math.max(0, all.length - MOST_LINES);
  return { lines: all.slice(over), dropped: held.dropped + over, after: next ?? held.after };
}

function fieldsIn(line: string): string | null {
  const text = membersOf(line).get('fields');
  return text === undefined || /^\{\s*\}$/.test(text) ? null : text;
}
