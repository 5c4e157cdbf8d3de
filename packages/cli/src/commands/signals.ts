import type { Wire } from '@millrace/sdk';
import { connect } from '../connection/connect.js';
import type { Run } from '../invocation/context.js';
import { EXIT, Misuse } from '../invocation/exit.js';
import { jsonText, jsonValue, quoted, seconds } from '../invocation/values.js';
import { showList } from '../show/list.js';
import { age, until } from '../show/time.js';
import type * as specs from '../specs/signals.js';
import { jobId } from './jobs.js';

export const signal: Run<(typeof specs)['signal']['options']> = async (context) => {
  const { args, io, options, signal: stop } = context;
  const { job, workflow, key, ttl } = options;
  if ([job, workflow, key].filter((given) => given !== undefined).length !== 1)
    throw new Misuse('either --job or --key or --workflow says who it is for');
  if (key === undefined && ttl !== undefined)
    throw new Misuse('--ttl goes with --key; one to a job or a workflow is kept until it ends');
  const name = args[0] ?? '';
  const value = args[1] === undefined ? undefined : await jsonValue('VALUE', args[1], io);
  const connection = connect(context);
  const path =
    job !== undefined
      ? ['jobs', jobId(connection, job), 'signals', name]
      : workflow !== undefined
        ? ['workflows', connection.recent.resolve('workflows', workflow), 'signals', name]
        : ['signals'];
  const body =
    key !== undefined
      ? jsonText({ name: quoted(name), key: quoted(key), value, ttl_secs: quoted(seconds('ttl', ttl)) })
      : jsonText({ value });
  const request = { method: 'POST', body, key: options['idempotency-key'] ?? true, signal: stop } as const;
  const sent = await connection.raw.call<Wire.SignalAccepted>(path, request);
  await io.print(options.json ? sent.text : sent.body.delivered ? 'delivered' : 'stored until a job waits for it');
  return EXIT.ok;
};

export const waits: Run<(typeof specs)['waits']['options']> = async (context) => {
  const { name, key, ask } = context.options;
  return showList<Wire.Wait>(context, connect(context), {
    path: ['waits'],
    rows: 'waits',
    query: { name, key, ask: ask || undefined },
    columns: (now) => [
      { title: 'JOB', kind: 'id', cell: ({ job_id: id }) => id },
      { title: 'TASK', kind: 'text', cell: ({ task_name: task }) => task },
      { title: 'SIGNAL', kind: 'text', cell: (wait) => wait.name },
      { title: 'KEY', kind: 'text', cell: (wait) => (wait.key === wait.job_id ? 'its id' : wait.key) },
      { title: 'SINCE', cell: ({ since }) => age(since, now) },
      { title: 'UNTIL', cell: (wait) => until(wait.until, now) },
      { title: 'ASKS', kind: 'text', cell: (wait) => wait.ask?.text },
    ],
    kind: 'jobs',
    id: ({ job_id: id }) => id,
    nothing: 'no job waits for a signal',
  });
};
