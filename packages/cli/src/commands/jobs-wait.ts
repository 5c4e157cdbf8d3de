import type { Wire } from '@millrace/sdk';
import { connect, type Connection } from '../connection/connect.js';
import type { Context, Run } from '../invocation/context.js';
import { bar, ProgressLine } from '../show/progress.js';
import { table } from '../show/table.js';
import { span } from '../show/time.js';
import type * as specs from '../specs/jobs.js';
import { plain } from '../terminal/plain.js';
import { EXIT, Misuse } from '../invocation/exit.js';
import { durationMs, words } from '../invocation/values.js';
import { DEFAULT_WAIT_MS, hasEnded } from './wait-for-job.js';
import { jobProgress } from '../show/progress.js';

/** As many as one call may wait for. */
const MOST_PER_CALL = 1_000;
const MOST = 100_000;
const POLL_SECS = 20;
const POLL_SECS_WATCHED = 2;

interface Outcome {
  readonly id: string;
  readonly status: string;
}

type Waiting = Pick<Context, 'io' | 'signal'>;

/** Waits for many jobs with few calls. */
export const wait: Run<(typeof specs)['jobsWait']['options']> = async (context) => {
  const { io, options } = context;
  const deadline = performance.now() + (durationMs('timeout', options.timeout) ?? DEFAULT_WAIT_MS);
  const connection = connect(context);
  const ids = [...new Set((await words(context.args, io, MOST)).map((id) => connection.recent.resolve('jobs', id)))];
  if (ids.length === 0) throw new Misuse('jobs wait needs the id of a job');
  if ((options.json || options.any) && ids.length > MOST_PER_CALL) {
    throw new Misuse(`--json and --any take at most ${MOST_PER_CALL} jobs`);
  }
  const outcomes: Outcome[] = [];
  const line = new ProgressLine(io);
  try {
    for (let start = 0; start < ids.length; start += MOST_PER_CALL) {
      const part = ids.slice(start, start + MOST_PER_CALL);
      const answer = await waitForPart(context, connection, { ids: part, any: options.any, deadline }, (ended) =>
        line.update(`${bar(start + ended, ids.length)}  ${start + ended}/${ids.length} jobs`),
      );
      outcomes.push(...outcomesOf(answer.body));
      if (options.json) await io.print(answer.text);
    }
  } finally {
    line.clear();
  }
  if (!options.json) await io.print(outcomeTable(outcomes, connection));
  return codeOf(outcomes, options.any);
};

async function waitForPart(
  { io, signal }: Waiting,
  { raw }: Connection,
  { ids, any, deadline }: { ids: readonly string[]; any: boolean; deadline: number },
  told: (ended: number) => void,
): Promise<{ text: string; body: Wire.WaitResponse }> {
  for (;;) {
    const left = Math.max(0, Math.ceil((deadline - performance.now()) / 1_000));
    const waitSecs = Math.min(io.terminal.stderr ? POLL_SECS_WATCHED : POLL_SECS, left);
    const answer = await raw.call<Wire.WaitResponse>(['jobs', 'wait'], {
      method: 'POST',
      body: JSON.stringify({ job_ids: ids, until: any ? 'any' : 'all', wait_secs: waitSecs }),
      timeout: `${waitSecs + 10}s`,
      signal,
    });
    const { ended, pending } = answer.body;
    if (pending.length === 0 || (any && ended.length > 0) || performance.now() >= deadline) return answer;
    told(ended.length);
  }
}

const outcomesOf = ({ ended, pending, missing }: Wire.WaitResponse): Outcome[] => [
  ...ended,
  ...pending.map((id) => ({ id, status: 'pending' })),
  ...missing.map((id) => ({ id, status: 'unknown' })),
];

const outcomeTable = (outcomes: readonly Outcome[], { look }: Connection): string =>
  table<Outcome>(
    [
      { title: 'ID', kind: 'id', cell: ({ id }) => id },
      { title: 'STATUS', kind: 'state', cell: ({ status }) => status },
    ],
    outcomes,
    look,
  );

/** The worst of them decides. */
function codeOf(outcomes: readonly Outcome[], any: boolean): number {
  const have = (...states: readonly string[]): boolean => outcomes.some(({ status }) => states.includes(status));
  if (have('failed', 'cancelled')) return EXIT.jobFailed;
  if (have('unknown')) return EXIT.notFound;
  if (have('pending') && !(any && have('completed'))) return EXIT.pending;
  return EXIT.ok;
}

/** Follows the events of one job. */
export const watch: Run<(typeof specs)['jobsWatch']['options']> = async (context) => {
  const { args, io, options, signal } = context;
  const connection = connect(context);
  const id = connection.recent.resolve('jobs', args[0] ?? '');
  const line = new ProgressLine(io);
  const started = performance.now();
  let status = '';
  const isLast = ({ event, data }: { event: string; data: string }): boolean =>
    event === 'status' && hasEnded((JSON.parse(data) as Wire.Job).status);
  try {
    for await (const { event, data } of connection.raw.follow(['jobs', id, 'events'], isLast, { signal })) {
      line.clear();
      if (event === 'progress') {
        const said = jobProgress(JSON.parse(data) as Record<string, unknown>);
        line.update([status, said, span(performance.now() - started)].join('  '));
      }
      if (event !== 'status') continue;
      const job = JSON.parse(data) as Wire.Job;
      status = job.status;
      await io.print(options.jsonl ? data : describe(job));
    }
  } finally {
    line.clear();
  }
  return status === 'completed' ? EXIT.ok : EXIT.jobFailed;
};

function describe(job: Wire.Job): string {
  const at = job.completed_at ?? job.started_at ?? job.created_at;
  const attempt = job.delivery_count > 0 ? `attempt ${job.delivery_count}` : '';
  const error = job.error_message === null ? '' : plain(job.error_message);
  const retry = job.status === 'retrying' ? `next try ${job.next_retry_at ?? job.scheduled_at}` : '';
  return [at, job.status, attempt, retry, error].filter(Boolean).join('  ');
}
