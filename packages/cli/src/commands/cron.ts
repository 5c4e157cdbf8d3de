import type { Wire } from '@millrace/sdk';
import { confirmed } from '../invocation/confirm.js';
import { connect, type Connection } from '../connection/connect.js';
import type { Run } from '../invocation/context.js';
import { showList } from '../show/list.js';
import { until } from '../show/time.js';
import type * as specs from '../specs/cron.js';
import { EXIT, Misuse } from '../invocation/exit.js';
import { jsonObject, jsonText, quoted, wholeNumber } from '../invocation/values.js';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** The service knows schedules by id, people by name. */
async function scheduleId(
  { recent, millrace }: Connection,
  text: string | undefined,
  signal: AbortSignal,
): Promise<string> {
  const named = recent.resolve('schedules', text ?? '');
  return UUID.test(named) ? named : (await millrace.schedules.get(named, { signal })).id;
}

export const list: Run<(typeof specs)['cronList']['options']> = async (context) =>
  showList<Wire.Cron>(context, connect(context), {
    path: ['cron'],
    rows: 'crons',
    query: { order_by: 'next_run_at ASC' },
    columns: (now) => [
      { title: 'NAME', kind: 'text', cell: ({ name }) => name },
      { title: 'EXPRESSION', cell: ({ cron_expr: expression }) => expression },
      { title: 'ZONE', cell: ({ timezone }) => timezone },
      {
        title: 'TASK',
        kind: 'text',
        cell: ({ task_name: task, workflow }) => task ?? `workflow ${workflow?.name ?? ''}`,
      },
      { title: 'QUEUE', kind: 'text', cell: ({ queue_name: queue }) => queue },
      { title: 'NEXT', cell: ({ enabled, next_run_at: at }) => (enabled ? (until(at, now) ?? 'never') : 'paused') },
    ],
    kind: 'schedules',
    id: ({ id }) => id,
    nothing: 'no schedules',
  });

export const put: Run<(typeof specs)['cronPut']['options']> = async (context) => {
  const { args, io, options, signal } = context;
  const [name = '', expression, task, payload = '{}'] = args;
  const body = jsonText({
    cron_expr: quoted(expression),
    timezone: quoted(options.timezone),
    overlap: quoted(options.overlap),
    task_name: quoted(task),
    payload: await jsonObject('PAYLOAD', payload, io),
    queue: quoted(options.queue),
    config: options.config === undefined ? undefined : await jsonObject('--config', options.config, io),
  });
  const { raw } = connect(context);
  const answer = await raw.call<Wire.CronCreated>(['cron', name], { method: 'PUT', body, signal });
  await io.print(options.json ? answer.text : answer.body.cron_id);
  return EXIT.ok;
};

const change =
  (action: 'pause' | 'resume', done: string): Run<(typeof specs)['cronPause']['options']> =>
  async (context) => {
    const { args, io, signal } = context;
    const connection = connect(context);
    const id = await scheduleId(connection, args[0], signal);
    await connection.raw.call(['cron', id, action], { method: 'POST', signal });
    await io.print(`${done} ${args[0] ?? ''}`);
    return EXIT.ok;
  };

export const pause = change('pause', 'paused');
export const resume = change('resume', 'resumed');

export const remove: Run<(typeof specs)['cronDelete']['options']> = async (context) => {
  const { args, io, options, signal } = context;
  const connection = connect(context);
  const id = await scheduleId(connection, args[0], signal);
  if (!(await confirmed(io, `This will delete the schedule ${args[0] ?? ''}.`, options.yes))) {
    io.complain('nothing was changed\n');
    return EXIT.failed;
  }
  await connection.raw.call(['cron', id], { method: 'DELETE', signal });
  await io.print(`deleted ${args[0] ?? ''}`);
  return EXIT.ok;
};

export const next: Run<(typeof specs)['cronNext']['options']> = async (context) => {
  const { args, io, options, signal } = context;
  const { expression, timezone } = options;
  const count = wholeNumber('count', options.count, 1, 100);
  if ((args[0] === undefined) === (expression === undefined))
    throw new Misuse('give NAME or --expression, one of them');
  const connection = connect(context);
  const { text, body } =
    expression === undefined
      ? await connection.raw.call<Partial<Wire.NextRuns & Wire.CronPreview>>(
          ['cron', await scheduleId(connection, args[0], signal), 'next'],
          { query: { count }, signal },
        )
      : await connection.raw.call<Partial<Wire.NextRuns & Wire.CronPreview>>(['cron', 'preview'], {
          query: { expr: expression, timezone },
          signal,
        });
  await io.print(options.json ? text : [...(body.next_run_at ?? []), ...(body.next ?? [])].join('\n'));
  return EXIT.ok;
};

/** What a firing made; one that was skipped made nothing. */
const madeBy = ({ job_id: job, workflow_id: workflow }: Wire.CronFiring): string => job ?? workflow ?? '';

export const firings: Run<(typeof specs)['cronFirings']['options']> = async (context) => {
  const connection = connect(context);
  const id = await scheduleId(connection, context.args[0], context.signal);
  return showList<Wire.CronFiring>(context, connection, {
    path: ['cron', id, 'firings'],
    rows: 'firings',
    query: {},
    columns: () => [
      { title: 'JOB OR WORKFLOW', kind: 'id', cell: madeBy },
      { title: 'DUE', cell: ({ occurrence }) => occurrence },
      { title: 'FIRED', cell: ({ fired_at: at }) => at },
      { title: 'KIND', cell: ({ kind }) => kind },
    ],
    kind: 'jobs',
    id: madeBy,
    nothing: 'no firings',
  });
};

export const trigger: Run<(typeof specs)['cronTrigger']['options']> = async (context) => {
  const { args, io, options, signal } = context;
  const connection = connect(context);
  const id = await scheduleId(connection, args[0], signal);
  const request = { method: 'POST', key: options.key ?? true, signal } as const;
  const fired = await connection.raw.call<Wire.CronTriggered>(['cron', id, 'trigger'], request);
  const { job_id: job, workflow_id: workflow } = fired.body;
  const made = job ?? workflow ?? '';
  connection.recent.made(typeof job === 'string' ? 'jobs' : 'workflows', made);
  await io.print(options.json ? fired.text : made);
  return EXIT.ok;
};
