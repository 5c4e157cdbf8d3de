import { setTimeout as delay } from 'node:timers/promises';
import { jsonElements, jsonMember, type Wire } from '@millrace/sdk';
import { connect, type Connection } from '../connection/connect.js';
import type { Context, Run } from '../invocation/context.js';
import { EXIT } from '../invocation/exit.js';
import { durationMs, wholeNumber } from '../invocation/values.js';
import type * as specs from '../specs/jobs.js';
import { plain } from '../terminal/plain.js';
import { cut, widthOf } from '../terminal/width.js';
import { statusColour } from '../terminal/style.js';
import type { JobSummary } from './job-views.js';

/**
 * Follows jobs as they end. The server lists them in that order, each once, from the first question on; what had ended
 * before then is read from its lists of jobs, the youngest of each state. Between two looks it rests for ten times as
 * long as the last one took: on a busy server it becomes slower, and the server does not.
 */
const ENDS = ['completed', 'failed', 'cancelled'] as const;
const PAGE = 100;
/** Ends of one look. */
const LOOK = 1_000;
const REST = 10;
const INTERVAL_MS = 1_000;
const LEAST_INTERVAL_MS = 100;
const LINES = 10;

type TailContext = Context<(typeof specs)['tail']['options']>;

interface Ended {
  readonly job: JobSummary;
  readonly text: string;
}

export const tail: Run<(typeof specs)['tail']['options']> = async (context) => {
  const { io, options, signal } = context;
  const lines = wholeNumber('lines', options.lines, 0, PAGE) ?? LINES;
  const interval = Math.max(LEAST_INTERVAL_MS, durationMs('interval', options.interval) ?? INTERVAL_MS);
  let left = wholeNumber('count', options.count, 1, 1_000_000) ?? Infinity;
  const connection = connect(context);
  /** Whether that was the last one. */
  const show = async (ended: readonly Ended[]): Promise<boolean> => {
    for (const { job, text } of ended) {
      await io.print(options.jsonl ? text : lineOf(job, connection));
      if (--left === 0) return true;
    }
    return false;
  };
  try {
    // In this order, nothing ends unseen between the two. What ends meanwhile is in both.
    let { next } = (await look(context, connection)).page;
    const before = await lastEnded(context, connection, lines);
    const shown = new Set(before.map(({ job }) => job.id));
    if (await show(before)) return EXIT.ok;
    for (;;) {
      const begun = performance.now();
      const { page, ended } = await look(context, connection, next);
      next = page.next;
      if (page.missed) io.complain('some jobs that ended may not be shown: the server was not asked for two minutes\n');
      if (await show(ended.filter(({ job }) => !shown.delete(job.id)))) return EXIT.ok;
      if (!page.more) await delay(Math.max(interval, REST * (performance.now() - begun)), undefined, { signal });
    }
  } catch (error) {
    // It has no end but this one.
    if (signal.aborted) return EXIT.ok;
    throw error;
  }
};

/** What has ended since the look before, in that order. */
async function look(
  { options: { queue, task, status }, signal }: TailContext,
  { raw }: Connection,
  after?: string,
): Promise<{ page: Wire.EndedJobs; ended: Ended[] }> {
  const query = { after, limit: LOOK, queue, task, status };
  const { body: page, text } = await raw.call<Wire.EndedJobs>(['jobs', 'ended'], { query, signal });
  return { page, ended: endedOf(page.jobs, text) };
}

/** The last of those that were there, in the order in which they ended. */
async function lastEnded(
  { options: { queue, task, status: states }, signal }: TailContext,
  { raw }: Connection,
  lines: number,
): Promise<Ended[]> {
  if (lines === 0) return [];
  const found: Ended[] = [];
  for (const status of states?.split(',') ?? ENDS) {
    const query = { status, queue, task, view: 'summary', limit: PAGE };
    const { body, text } = await raw.call<{ jobs: JobSummary[] }>(['jobs'], { query, signal });
    found.push(...endedOf(body.jobs, text));
  }
  const instantOf = ({ job }: Ended): number => Date.parse(job.completed_at ?? '') || 0;
  return found.sort((one, other) => instantOf(one) - instantOf(other)).slice(-lines);
}

function endedOf(jobs: readonly JobSummary[], answer: string): Ended[] {
  const texts = [...jsonElements(jsonMember(answer, 'jobs') ?? '[]')];
  return jobs.map((job, n) => ({ job, text: texts[n] ?? '{}' }));
}

/** One line, cut where a terminal ends; an error in full elsewhere. */
function lineOf(job: JobSummary, { look: { columns, paint } }: Connection): string {
  const { status, completed_at: at, started_at: started, task_name: task, queue_name: queue, error_message } = job;
  const took = started === null || at === null ? '-' : tookText(Date.parse(at) - Date.parse(started));
  const head = `${(at ?? '').slice(0, 19)}Z  `;
  const error = status === 'completed' || error_message === null ? '' : `: ${error_message}`;
  const rest = `  ${took.padStart(7)}  ${job.id}  ${plain(`${task} on ${queue}${error}`)}`;
  const colour = statusColour(status);
  const word = status.padEnd('cancelled'.length);
  const room = Math.max(1, columns - widthOf(head) - word.length);
  return `${head}${colour === undefined ? word : paint(colour, word)}${cut(rest, room)}`;
}

const tookText = (ms: number): string =>
  ms < 1_000 ? `${Math.max(0, Math.round(ms))}ms` : `${(ms / 1_000).toFixed(1)}s`;
