import { setTimeout as delay } from 'node:timers/promises';
import type { Wire } from '@millrace/sdk';
import { confirmed } from '../invocation/confirm.js';
import type { Connection } from '../connection/connect.js';
import type { Context } from '../invocation/context.js';
import { bar, ProgressLine } from '../show/progress.js';
import { table, type Column } from '../show/table.js';
import type { JSON_OUTPUT, Values } from '../specs/spec.js';
import type { BULK } from '../specs/jobs.js';
import { EXIT, Misuse } from '../invocation/exit.js';

export interface Change {
  readonly action: Wire.Operation['action'];
  readonly filter: Readonly<Record<string, string | boolean | Readonly<Record<string, string>> | undefined>>;
  readonly ids: readonly string[];
  /** Whether replays keep the checkpoints of durable jobs. */
  readonly keep?: boolean;
}

const WORDS = {
  cancel_jobs: { verb: 'cancel', done: 'cancelled', what: 'job' },
  replay_dead_letters: { verb: 'replay', done: 'replayed', what: 'dead letter' },
  resume_workflows: { verb: 'resume', done: 'resumed', what: 'workflow' },
  run_jobs_now: { verb: 'make due', done: 'made due', what: 'job' },
  rerun_jobs: { verb: 'rerun', done: 'created anew', what: 'job' },
} as const;

const POLL_MS = 500;

type Bulk = Pick<Context, 'io' | 'signal'> & { readonly options: Values<typeof BULK & typeof JSON_OUTPUT> };

/** Says how many things would change, asks, changes them, and shows how far it is. */
export async function changeMany(context: Bulk, connection: Connection, change: Change): Promise<number> {
  const { io, options, signal } = context;
  const { verb, what } = WORDS[change.action];
  const selection = { ...selectionOf(change), ...(change.keep === true && { keep_checkpoints: true }) };
  const preview = await connection.raw.call<Wire.DryRun>(['operations'], {
    method: 'POST',
    body: JSON.stringify({ ...selection, dry_run: true }),
    signal,
  });
  const { matched } = preview.body;
  if (options['dry-run']) return showPreview(context, connection, preview, `would ${verb} ${count(matched, what)}`);
  if (matched.n === 0 && matched.exact) {
    if (options.json) await io.print(preview.text);
    else await io.print(`there is nothing to ${verb}`);
    return EXIT.ok;
  }
  if (!(await confirmed(io, `This will ${verb} ${count(matched, what)}.`, options.yes))) {
    io.complain('nothing was changed\n');
    return EXIT.failed;
  }
  const started = await connection.raw.call<Wire.OperationCreated>(['operations'], {
    method: 'POST',
    body: JSON.stringify(selection),
    key: true,
    signal,
  });
  const id = started.body.operation_id;
  connection.recent.made('operations', id);
  if (options['no-wait']) {
    await io.print(options.json ? started.text : id);
    return EXIT.ok;
  }
  const ended = await followOperation(context, connection, id);
  await io.print(options.json ? ended.text : summary(ended.body));
  return ended.body.status === 'completed' ? EXIT.ok : EXIT.failed;
}

function selectionOf({ action, filter, ids }: Change): Wire.CreateOperation {
  const given = Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== undefined));
  const { verb, what } = WORDS[action];
  if (ids.length > 0 && Object.keys(given).length > 0) throw new Misuse('give ids or a filter, not both');
  if (ids.length > 1_000) throw new Misuse('at most 1000 ids at a time; a filter has no such limit');
  if (ids.length > 0) return { action, ids: [...ids] };
  if (Object.keys(given).length > 0) return { action, filter: given };
  throw new Misuse(`which ${what}s to ${verb}? Give ids, or a filter such as --queue`);
}

const count = ({ n, exact }: Wire.Count, what: string): string =>
  `${exact ? '' : 'at least '}${n} ${what}${n === 1 ? '' : 's'}`;

type Sample = Wire.DryRun['sample'][number];
const OF_JOBS: readonly Column<Sample>[] = [
  { title: 'TASK', kind: 'text', cell: ({ task_name: task }) => task },
  { title: 'QUEUE', kind: 'text', cell: ({ queue_name: queue }) => queue },
];
const OF_WORKFLOWS: readonly Column<Sample>[] = [{ title: 'NAME', kind: 'text', cell: ({ name }) => name }];

async function showPreview(
  { io, options }: Bulk,
  { look }: Connection,
  { text, body }: { text: string; body: Wire.DryRun },
  sentence: string,
): Promise<number> {
  if (options.json) {
    await io.print(text);
    return EXIT.ok;
  }
  await io.print(sentence);
  if (body.sample.length === 0) return EXIT.ok;
  await io.print(
    table<Sample>(
      [
        { title: 'ID', kind: 'id', cell: ({ id }) => id },
        ...(body.sample.some(({ name }) => name !== undefined) ? OF_WORKFLOWS : OF_JOBS),
        { title: 'CREATED', cell: ({ created_at: at }) => at },
      ],
      body.sample,
      look,
    ),
  );
  return EXIT.ok;
}

/** The operation once it has ended; a bar on the terminal until then. Told of every change in between. */
export async function followOperation(
  { io, signal }: Pick<Context, 'io' | 'signal'>,
  { raw }: Connection,
  id: string,
  told: (text: string) => Promise<void> = async () => undefined,
): Promise<{ text: string; body: Wire.Operation }> {
  const line = new ProgressLine(io);
  try {
    for (let before = ''; ;) {
      const answer = await raw.call<Wire.Operation>(['operations', id], { signal });
      if (answer.text !== before) await told(answer.text);
      before = answer.text;
      const { status, done, matched } = answer.body;
      if (status !== 'running') return answer;
      line.update(`${bar(done, matched.n)}  ${done}/${matched.exact ? '' : 'at least '}${matched.n}`);
      await delay(POLL_MS, undefined, { signal });
    }
  } finally {
    line.clear();
  }
}

/** `cancelled 12 jobs, skipped 1` */
export function summary({ action, status, changed, skipped }: Wire.Operation): string {
  const { done, what } = WORDS[action];
  const text = `${done} ${count({ n: changed, exact: true }, what)}${skipped > 0 ? `, skipped ${skipped}` : ''}`;
  return status === 'completed' ? text : `${status}: ${text}`;
}
