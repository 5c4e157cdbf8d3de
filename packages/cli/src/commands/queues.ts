import type { Wire } from '@millrace/sdk';
import { connect, type Connection } from '../connection/connect.js';
import type { Context, Run } from '../invocation/context.js';
import { showList, type ListView } from '../show/list.js';
import { refreshing } from '../show/refresh.js';
import { fields, table } from '../show/table.js';
import { age, span } from '../show/time.js';
import type { JSON_OUTPUT, Values, WATCH } from '../specs/spec.js';
import type * as specs from '../specs/queues.js';
import { EXIT } from '../invocation/exit.js';
import { plain } from '../terminal/plain.js';

type Whole = Pick<Context, 'io' | 'signal'> & {
  readonly options: Values<typeof JSON_OUTPUT & typeof WATCH & { readonly jsonl: { readonly help: string } }>;
};

/** Lists that are shown whole. */
const showAll = <T>(
  context: Whole,
  connection: Connection,
  view: Omit<ListView<T>, 'whole' | 'query'> & Partial<Pick<ListView<T>, 'query'>>,
) =>
  showList(
    { ...context, options: { ...context.options, limit: undefined, cursor: undefined, all: false } },
    connection,
    { query: {}, ...view, whole: true },
  );

export const queues: Run<(typeof specs)['queues']['options']> = async (context) =>
  showAll<Wire.QueueDepth>(context, connect(context), {
    path: ['queues'],
    rows: 'queues',
    query: { idle: context.options.idle || undefined },
    columns: (now) => [
      { title: 'QUEUE', kind: 'text', cell: ({ queue }) => queue },
      { title: 'PENDING', kind: 'number', cell: ({ pending }) => pending },
      { title: 'SCHEDULED', kind: 'number', cell: ({ scheduled }) => scheduled },
      { title: 'RETRYING', kind: 'number', cell: ({ retrying }) => retrying },
      { title: 'RUNNING', kind: 'number', cell: ({ running }) => running },
      { title: 'OLDEST', cell: ({ oldest_pending_age_secs: secs }) => (secs === null ? null : span(secs * 1_000)) },
      { title: 'ASKED FOR', cell: ({ last_lease_at: at }) => age(at, now) },
      { title: 'PAUSED', cell: ({ paused_at: at }) => (at === null ? 'no' : 'yes') },
    ],
    id: ({ queue }) => queue,
    nothing: context.options.idle ? 'no queues' : 'no unfinished jobs',
  });

export const queuesGet: Run<(typeof specs)['queuesGet']['options']> = async (context) => {
  const { args, io, options, signal } = context;
  const connection = connect(context);
  return refreshing(context, async () => {
    const { text, body, now } = await connection.raw.call<Wire.QueueDetail>(['queues', args[0] ?? ''], { signal });
    await io.print(options.json ? text : queueText(body, now, connection));
    return EXIT.ok;
  });
};

function queueText(queue: Wire.QueueDetail, now: Date, { look }: Connection): string {
  const head = fields(
    [
      ['queue', queue.queue],
      ['pending', queue.pending],
      ['scheduled', queue.scheduled],
      ['retrying', queue.retrying],
      ['running', queue.running],
      ['oldest', queue.oldest_pending_age_secs === null ? null : span(queue.oldest_pending_age_secs * 1_000)],
      ['last asked for', queue.last_lease_at],
      ['paused', queue.paused_at],
      ['paused by', queue.paused_by],
      ['because', queue.paused_reason],
      ['slots of workers', queue.slots && `${queue.slots.in_use} of ${queue.slots.offered} in use`],
      ['most that run', queue.settings?.running],
      ['rate', rateText(queue.settings?.rate)],
      ['share', queue.settings?.share],
    ],
    look.paint,
  );
  const tasks = table<Wire.QueueDetail['by_task'][number]>(
    [
      { title: 'TASK', kind: 'text', cell: ({ task_name: task }) => task },
      { title: 'WAITING', kind: 'number', cell: ({ waiting }) => waiting },
      { title: 'SCHEDULED', kind: 'number', cell: ({ scheduled }) => scheduled },
      { title: 'RUNNING', kind: 'number', cell: ({ running }) => running },
    ],
    queue.by_task,
    look,
  );
  const next = table<Wire.QueueDetail['next'][number]>(
    [
      { title: 'NEXT', kind: 'id', cell: ({ id }) => id },
      { title: 'TASK', kind: 'text', cell: ({ task_name: task }) => task },
      { title: 'PRIORITY', kind: 'number', cell: ({ priority }) => priority },
      { title: 'DUE', cell: ({ scheduled_at: at }) => (Date.parse(at) <= now.getTime() ? 'now' : at) },
    ],
    queue.next,
    look,
  );
  return [head, ...(queue.by_task.length > 0 ? [tasks] : []), ...(queue.next.length > 0 ? [next] : [])].join('\n\n');
}

export const queuesPause: Run<(typeof specs)['queuesPause']['options']> = async (context) => {
  const { args, io, options, signal } = context;
  const { raw } = connect(context, 'adminToken');
  const [queue = ''] = args;
  const isStranger = !(await isKnown(raw, queue, signal));
  const body = options.reason === undefined ? {} : { body: JSON.stringify({ reason: options.reason }) };
  await raw.call(['admin', 'queues', queue, 'pause'], { method: 'POST', signal, ...body });
  await io.print(`paused ${queue}`);
  if (isStranger)
    io.complain(
      `millrace: ${plain(`nothing waits or runs on the queue ${queue}, and nobody has worked on it lately`)}; ` +
        'is that its name?\n',
    );
  return EXIT.ok;
};

export const queuesResume: Run<(typeof specs)['queuesResume']['options']> = async (context) => {
  const { args, io, signal } = context;
  const [queue = ''] = args;
  await connect(context, 'adminToken').raw.call(['admin', 'queues', queue, 'resume'], { method: 'POST', signal });
  await io.print(`resumed ${queue}`);
  return EXIT.ok;
};

/** Whether anything is on a queue, or somebody held jobs of it in the last hour. */
async function isKnown(raw: Connection['raw'], queue: string, signal: AbortSignal): Promise<boolean> {
  const held = await raw.call<{ queues: { queue: string }[] }>(['admin', 'queues'], { signal });
  if (held.body.queues.length >= MOST_SHOWN || held.body.queues.some((each) => each.queue === queue)) return true;
  const { body } = await raw.call<Wire.Workers>(['admin', 'workers'], { signal });
  return body.workers.some(({ queue_name: name }) => name === queue);
}

/** An answer with as many queues may lack others. */
const MOST_SHOWN = 1_000;

/** `100/60s`, and what may start at once beyond that. */
export const rateText = (rate: Wire.RateInput | null | undefined): string | null =>
  rate ? `${rate.count}/${rate.per_secs}s${(rate.burst ?? 1) > 1 ? ` burst ${rate.burst}` : ''}` : null;

export const limitsList: Run<(typeof specs)['limitsList']['options']> = async (context) =>
  showList<Wire.LimitUse>(context, connect(context), {
    path: ['limits'],
    rows: 'limits',
    query: { queue: context.options.queue },
    columns: (now) => [
      { title: 'QUEUE', kind: 'text', cell: ({ queue }) => queue },
      { title: 'KEY', kind: 'text', cell: ({ key }) => key },
      { title: 'RUNNING', kind: 'number', cell: ({ running }) => running },
      { title: 'LIMIT', kind: 'number', cell: ({ limit }) => limit },
      { title: 'RATE', cell: ({ rate }) => rateText(rate) },
      { title: 'WAITING', kind: 'number', cell: ({ waiting }) => waiting },
      { title: 'OLDEST', cell: ({ oldest }) => age(oldest, now) },
    ],
    id: ({ key }) => key,
    nothing: 'no keys in use',
  });

export const audit: Run<(typeof specs)['audit']['options']> = async (context) =>
  showList<Wire.AuditEntry>(context, connect(context, 'adminToken'), {
    path: ['admin', 'audit'],
    rows: 'entries',
    query: {},
    columns: (now) => [
      { title: 'AGE', cell: ({ at }) => age(at, now) },
      { title: 'BY', kind: 'text', cell: ({ by }) => by },
      { title: 'ACTION', cell: ({ action }) => action },
      { title: 'TARGET', kind: 'text', cell: ({ target }) => target },
      { title: 'AFTER', kind: 'text', cell: ({ after }) => (after === null ? null : JSON.stringify(after)) },
    ],
    id: ({ request_id: request }) => request,
    nothing: 'nothing yet',
  });

export const workers: Run<(typeof specs)['workers']['options']> = async (context) =>
  showAll<Wire.Worker>(context, connect(context), {
    path: ['workers'],
    rows: 'workers',
    columns: (now) => [
      { title: 'WORKER', kind: 'text', cell: ({ worker_id: worker }) => worker },
      { title: 'QUEUE', kind: 'text', cell: ({ queue_name: queue }) => queue },
      { title: 'RUNNING', kind: 'number', cell: ({ running }) => running },
      { title: 'SLOTS', kind: 'number', cell: ({ slots }) => slots },
      { title: 'COMPLETED', kind: 'number', cell: ({ completed }) => completed },
      { title: 'FAILED', kind: 'number', cell: ({ failed }) => failed },
      { title: 'EXPIRED', kind: 'number', cell: ({ expired }) => expired },
      { title: 'SEEN', cell: ({ last_seen_at: at }) => age(at, now) },
    ],
    id: ({ worker_id: worker }) => worker,
    nothing: 'no workers',
  });
