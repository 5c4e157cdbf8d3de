import type { Wire } from '@millrace/sdk';
import { connect } from '../connection/connect.js';
import type { Run } from '../invocation/context.js';
import { showList } from '../show/list.js';
import { fields } from '../show/table.js';
import { age } from '../show/time.js';
import type * as specs from '../specs/dlq.js';
import { EXIT, Misuse } from '../invocation/exit.js';
import { since, words } from '../invocation/values.js';
import { changeMany } from './bulk.js';

const MOST_IDS = 1_000;

interface Filter {
  readonly queue: string | undefined;
  readonly task: string | undefined;
  readonly reason: string | undefined;
  readonly fingerprint: string | undefined;
  readonly 'created-after': string | undefined;
  readonly 'created-before': string | undefined;
}

const filterOf = (options: Filter): Record<string, string | undefined> => ({
  queue_name: options.queue,
  task_name: options.task,
  reason: options.reason,
  fingerprint: options.fingerprint,
  created_after: since('created-after', options['created-after']),
  created_before: since('created-before', options['created-before']),
});

export const list: Run<(typeof specs)['dlqList']['options']> = async (context) => {
  const { options } = context;
  if (options.replayed && options['not-replayed']) throw new Misuse('give --replayed or --not-replayed, not both');
  const connection = connect(context);
  return showList<Wire.DeadLetter>(context, connection, {
    path: ['dlq'],
    rows: 'dead_letters',
    query: {
      ...filterOf(options),
      job_id: options.job && connection.recent.resolve('jobs', options.job),
      replayed: options.replayed ? true : options['not-replayed'] ? false : undefined,
      order_by: options['oldest-first'] ? 'created_at ASC' : undefined,
    },
    columns: (now) => [
      { title: 'ID', kind: 'number', cell: ({ id }) => id },
      { title: 'TASK', kind: 'text', cell: ({ task_name: task }) => task },
      { title: 'QUEUE', kind: 'text', cell: ({ queue_name: queue }) => queue },
      { title: 'REASON', cell: ({ reason }) => reason },
      { title: 'AGE', cell: ({ created_at: at }) => age(at, now) },
      { title: 'REPLAYED', cell: ({ replayed_at: at }) => (at === null ? 'no' : 'yes') },
      { title: 'ERROR', kind: 'text', cell: ({ error_message: message }) => message },
    ],
    kind: 'dead letters',
    id: ({ id }) => String(id),
    nothing: 'no dead letters',
  });
};

export const groups: Run<(typeof specs)['dlqGroups']['options']> = async (context) => {
  const { options } = context;
  return showList<Wire.DeadLetterGroup>(context, connect(context), {
    path: ['dlq', 'groups'],
    rows: 'groups',
    query: {
      since: since('since', options.since),
      queue_name: options.queue,
      task_name: options.task,
      replayed: options['not-replayed'] ? false : undefined,
    },
    columns: (now) => [
      { title: 'FINGERPRINT', cell: ({ fingerprint }) => fingerprint },
      { title: 'COUNT', kind: 'number', cell: ({ count }) => count },
      { title: 'OPEN', kind: 'number', cell: ({ open }) => open },
      { title: 'TASK', kind: 'text', cell: ({ task_name: task }) => task },
      { title: 'REASON', cell: ({ reason }) => reason },
      { title: 'LAST', cell: ({ last_at: at }) => age(at, now) },
      { title: 'ERROR', kind: 'text', cell: ({ message }) => message },
    ],
    id: ({ fingerprint }) => fingerprint,
    nothing: 'no dead letters',
  });
};

export const get: Run<(typeof specs)['dlqGet']['options']> = async (context) => {
  const { args, io, options, signal } = context;
  const connection = connect(context);
  const id = connection.recent.resolve('dead letters', args[0] ?? '');
  const { text, body } = await connection.raw.call<Wire.DeadLetter>(['dlq', id], { signal });
  await io.print(options.json ? text : letterFields(body, connection.look.paint));
  return EXIT.ok;
};

const letterFields = (letter: Wire.DeadLetter, paint: Parameters<typeof fields>[1]): string =>
  fields(
    [
      ['id', letter.id],
      ['job', letter.job_id],
      ['task', letter.task_name],
      ['queue', letter.queue_name],
      ['reason', letter.reason],
      ['error', letter.error_message],
      ['created', letter.created_at],
      ['retries', letter.retry_count],
      ['payload bytes', letter.payload_bytes],
      ['fingerprint', letter.fingerprint],
      ['replayed', letter.replayed_at],
      ['replayed as', letter.replay_job_id],
    ],
    paint,
  );

export const replay: Run<(typeof specs)['dlqReplay']['options']> = async (context) => {
  const { args, io, options, signal } = context;
  const connection = connect(context);
  const ids = (await words(args, io, MOST_IDS)).map((id) => connection.recent.resolve('dead letters', id));
  const [only] = ids;
  if (ids.length === 1 && only !== undefined && !options['dry-run']) {
    const kept = options['keep-checkpoints'] && { body: JSON.stringify({ keep_checkpoints: true }) };
    const request = { method: 'POST', key: options.key ?? true, signal, ...kept } as const;
    const replayed = await connection.raw.call<Wire.JobCreated>(['dlq', only, 'replay'], request);
    connection.recent.made('jobs', replayed.body.job_id);
    await io.print(options.json ? replayed.text : replayed.body.job_id);
    return EXIT.ok;
  }
  if (options.key !== undefined) throw new Misuse('--key is for one id');
  const filter = { ...filterOf(options), ...(options.all && { replayed: false }) };
  const keep = options['keep-checkpoints'];
  return changeMany(context, connection, { action: 'replay_dead_letters', ids, filter, keep });
};
