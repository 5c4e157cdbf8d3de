import type { Wire } from '@millrace/sdk';
import { connect, type Connection } from '../connection/connect.js';
import type { Run } from '../invocation/context.js';
import { showList } from '../show/list.js';
import { refreshing } from '../show/refresh.js';
import { table } from '../show/table.js';
import type * as specs from '../specs/jobs.js';
import { plain, plainLines } from '../terminal/plain.js';
import { EXIT } from '../invocation/exit.js';
import { jsonObject, metadataField, since } from '../invocation/values.js';
import { jobColumns, jobFields, type JobSummary } from './job-views.js';

type Options<K extends keyof typeof specs> = (typeof specs)[K] extends { readonly options: infer O } ? O : never;

export const list: Run<Options<'jobsList'>> = async (context) => {
  const { options } = context;
  const connection = connect(context);
  return showList<JobSummary>(context, connection, {
    path: ['jobs'],
    rows: 'jobs',
    query: {
      status: options.status,
      queue: options.queue,
      due: options.due && String(options.due === 'yes'),
      task: options.task,
      error: options.error,
      ...metadataQuery(options.metadata),
      workflow_id: options.workflow && connection.recent.resolve('workflows', options.workflow),
      idempotency_key: options.key,
      created_after: since('created-after', options['created-after']),
      created_before: since('created-before', options['created-before']),
      order_by: options['oldest-first'] ? 'created_at ASC' : undefined,
    },
    tableQuery: { view: 'summary' },
    columns: jobColumns,
    kind: 'jobs',
    id: ({ id }) => id,
    nothing: 'no jobs',
  });
};

function metadataQuery(text: string | undefined): Record<string, string> {
  const field = metadataField(text);
  return field === undefined ? {} : { [`metadata.${field.name}`]: field.value };
}

export const get: Run<Options<'jobsGet'>> = async (context) => {
  const { args, io, options, signal } = context;
  const connection = connect(context);
  const id = jobId(connection, args[0]);
  return refreshing(context, async () => {
    const { text } = await connection.raw.call(['jobs', id], { signal });
    await io.print(options.json ? text : jobFields(text, connection));
    return EXIT.ok;
  });
};

export const create: Run<Options<'jobsCreate'>> = async (context) => {
  const { args, io, options, signal } = context;
  const body = await jsonObject('BODY', args[0] ?? '', io);
  const connection = connect(context);
  const request = { method: 'POST', body, key: keyFor(options.key, body), signal } as const;
  const created = await connection.raw.call<Wire.JobCreated>(['jobs'], request);
  connection.recent.made('jobs', created.body.job_id);
  await io.print(options.json ? created.text : created.body.job_id);
  return EXIT.ok;
};

/** A body may carry its key itself; another one in the header would be refused. */
function keyFor(given: string | undefined, body: string): string | true {
  const { idempotency_key: own } = JSON.parse(body) as Wire.CreateJob;
  return given ?? (typeof own === 'string' ? own : true);
}

export const attempts: Run<Options<'jobsAttempts'>> = async (context) => {
  const { args, io, options, signal } = context;
  const connection = connect(context);
  const path = ['jobs', jobId(connection, args[0]), 'attempts'];
  const { text, body } = await connection.raw.call<Wire.Attempts>(path, { signal });
  if (options.json) await io.print(text);
  else if (body.attempts.length === 0) io.complain('no attempts yet\n');
  else await io.print(attemptsTable(body, options.stacks, connection));
  return EXIT.ok;
};

function attemptsTable({ attempts: rows, omitted }: Wire.Attempts, stacks: boolean, { look }: Connection): string {
  const shown = table<Wire.Attempt>(
    [
      { title: 'NUMBER', kind: 'number', cell: ({ number }) => number },
      { title: 'OUTCOME', kind: 'state', cell: ({ outcome }) => outcome },
      { title: 'WORKER', kind: 'text', cell: ({ worker_id: worker }) => worker },
      { title: 'STARTED', cell: ({ started_at: at }) => at },
      { title: 'ENDED', cell: ({ ended_at: at }) => at },
      { title: 'ERROR', kind: 'text', cell: ({ error_message: message }) => message },
    ],
    rows,
    look,
  );
  const traces = stacks ? rows.flatMap(({ number, error_details: details }) => stackOf(number, details?.stack)) : [];
  return [shown, ...traces, ...(omitted > 0 ? [`${omitted} attempts between them are not kept`] : [])].join('\n');
}

const stackOf = (number: number, stack: string | null | undefined): string[] =>
  stack === null || stack === undefined
    ? []
    : ['', `attempt ${number}:`, ...plainLines(stack).map((line) => `  ${line}`)];

export const why: Run<Options<'jobsWhy'>> = async (context) => {
  const { args, io, options, signal } = context;
  const connection = connect(context);
  const path = ['jobs', jobId(connection, args[0]), 'why'];
  const { text, body } = await connection.raw.call<Wire.Why>(path, { signal });
  await io.print(options.json ? text : plain(body.message));
  return EXIT.ok;
};

export const jobId = ({ recent }: Connection, text: string | undefined): string => recent.resolve('jobs', text ?? '');
