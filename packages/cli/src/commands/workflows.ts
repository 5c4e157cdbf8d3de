import { setTimeout as delay } from 'node:timers/promises';
import { jsonMember, type Wire } from '@millrace/sdk';
import { connect, type Connection } from '../connection/connect.js';
import type { Context, Run } from '../invocation/context.js';
import { showList } from '../show/list.js';
import { bar, ProgressLine } from '../show/progress.js';
import { refreshing } from '../show/refresh.js';
import { fields, table } from '../show/table.js';
import { age } from '../show/time.js';
import type * as specs from '../specs/workflows.js';
import { plain, plainLines } from '../terminal/plain.js';
import { EXIT } from '../invocation/exit.js';
import { durationMs, jsonObject, since } from '../invocation/values.js';
import { DEFAULT_WAIT_MS } from './wait-for-job.js';

type Summary = Pick<Wire.Workflow, 'id' | 'name' | 'status' | 'created_at' | 'completed_at'> & {
  readonly steps_total?: number;
  readonly steps_ended?: number;
};

const POLL_MS = 500;

const hasEnded = (status: string): boolean => status !== 'created' && status !== 'running';
const workflowId = ({ recent }: Connection, text: string | undefined): string =>
  recent.resolve('workflows', text ?? '');

export const list: Run<(typeof specs)['workflowsList']['options']> = async (context) => {
  const { options } = context;
  return showList<Summary>(context, connect(context), {
    path: ['workflows'],
    rows: 'workflows',
    query: {
      status: options.status,
      name: options.name,
      created_after: since('created-after', options['created-after']),
      created_before: since('created-before', options['created-before']),
      order_by: options['oldest-first'] ? 'created_at ASC' : undefined,
    },
    tableQuery: { view: 'summary' },
    columns: (now) => [
      { title: 'ID', kind: 'id', cell: ({ id }) => id },
      { title: 'NAME', kind: 'text', cell: ({ name }) => name },
      { title: 'STATUS', kind: 'state', cell: ({ status }) => status },
      { title: 'STEPS', cell: ({ steps_ended: ended = 0, steps_total: total = 0 }) => `${ended}/${total}` },
      { title: 'AGE', cell: ({ created_at: at }) => age(at, now) },
    ],
    kind: 'workflows',
    id: ({ id }) => id,
    nothing: 'no workflows',
  });
};

export const get: Run<(typeof specs)['workflowsGet']['options']> = async (context) => {
  const { args, io, options, signal } = context;
  const connection = connect(context);
  const id = workflowId(connection, args[0]);
  return refreshing(context, async () => {
    const steps = async () => connection.raw.call<Wire.WorkflowSteps>(['workflows', id, 'steps'], { signal });
    if (options.steps) {
      const { text, body } = await steps();
      await io.print(options.json ? text : stepTable(body.steps, connection));
      return EXIT.ok;
    }
    const { text, body } = await connection.raw.call<Wire.Workflow>(['workflows', id], { signal });
    if (options.json) await io.print(text);
    else await io.print(`${record(text, body, connection)}\n\n${stepTable((await steps()).body.steps, connection)}`);
    return EXIT.ok;
  });
};

function record(text: string, workflow: Wire.Workflow, { look }: Connection): string {
  const metadata = jsonMember(text, 'metadata');
  return fields(
    [
      ['id', workflow.id],
      ['name', workflow.name],
      ['status', workflow.status],
      ['created', workflow.created_at],
      ['started', workflow.started_at],
      ['completed', workflow.completed_at],
      ['metadata', metadata === '{}' ? null : metadata],
      ['context', jsonMember(text, 'context')],
    ],
    look.paint,
  );
}

const stepTable = (steps: readonly Wire.WorkflowStep[], { look }: Connection): string =>
  table<Wire.WorkflowStep>(
    [
      { title: 'STEP', kind: 'text', cell: ({ name }) => name },
      { title: 'STATUS', kind: 'state', cell: ({ status }) => status },
      { title: 'ATTEMPTS', kind: 'number', cell: ({ attempts }) => attempts },
      { title: 'JOB', kind: 'id', cell: ({ job_id: job }) => job },
      { title: 'ERROR', kind: 'text', cell: ({ error_message: message }) => message },
    ],
    steps,
    look,
  );

export const watch: Run<(typeof specs)['workflowsWatch']['options']> = async (context) => {
  const { args, io, options, signal } = context;
  const connection = connect(context);
  const id = workflowId(connection, args[0]);
  const before = new Map<string, string>();
  let status = '';
  const isLast = ({ event, data }: { event: string; data: string }): boolean =>
    event === 'status' && hasEnded((JSON.parse(data) as Wire.WorkflowEvent).workflow.status);
  for await (const { event, data } of connection.raw.follow(['workflows', id, 'events'], isLast, { signal })) {
    if (event !== 'status') continue;
    const { workflow, steps } = JSON.parse(data) as Wire.WorkflowEvent;
    status = workflow.status;
    if (options.jsonl) await io.print(data);
    else for (const line of changes(workflow, steps, before)) await io.print(line);
  }
  return status === 'completed' ? EXIT.ok : EXIT.jobFailed;
};

/** What is news since the last event: steps first, then the workflow. */
function changes(workflow: Wire.Workflow, steps: readonly Wire.WorkflowStep[], before: Map<string, string>): string[] {
  const lines: string[] = [];
  const tell = (key: string, state: string, at: string | null, words: readonly string[]): void => {
    if (before.get(key) === state) return;
    before.set(key, state);
    lines.push([at ?? workflow.created_at, ...words].filter(Boolean).map(plain).join('  '));
  };
  for (const step of steps) {
    if (step.status === 'pending') continue;
    const at = step.completed_at ?? step.started_at ?? workflow.started_at;
    tell(`step ${step.name}`, `${step.status} ${step.attempts}`, at, [
      step.name,
      step.status,
      step.error_message ?? '',
    ]);
  }
  const at = workflow.completed_at ?? workflow.started_at;
  tell('workflow', workflow.status, at, [`workflow ${workflow.name}`, workflow.status]);
  return lines;
}

export const start: Run<(typeof specs)['workflowsStart']['options']> = async (context) => {
  const { args, io, options, signal } = context;
  const body = await jsonObject('BODY', args[0] ?? '', io);
  const timeoutMs = durationMs('timeout', options.timeout) ?? DEFAULT_WAIT_MS;
  const connection = connect(context);
  const request = { method: 'POST', body, key: options.key ?? true, signal } as const;
  const created = await connection.raw.call<Wire.WorkflowCreated>(['workflows'], request);
  const id = created.body.workflow_id;
  connection.recent.made('workflows', id);
  if (!options.wait) {
    await io.print(options.json ? created.text : id);
    return EXIT.ok;
  }
  const { text, status } = await waitForWorkflow(context, connection, id, timeoutMs);
  if (options.json) await io.print(text);
  if (status !== 'completed') io.complain(`millrace: the workflow ${id} is ${status.replace('_', ' ')}\n`);
  if (!hasEnded(status)) return EXIT.pending;
  if (!options.json && status !== 'cancelled') await io.print(jsonMember(text, 'context') ?? '{}');
  return status === 'completed' ? EXIT.ok : EXIT.jobFailed;
};

/** Workflows have no long poll. The summary is small; the whole record is read once, at the end. */
async function waitForWorkflow(
  { io, signal }: Pick<Context, 'io' | 'signal'>,
  { raw }: Connection,
  id: string,
  timeoutMs: number,
): Promise<{ text: string; status: string }> {
  const deadline = performance.now() + timeoutMs;
  const line = new ProgressLine(io);
  try {
    for (let pause = 50; ; pause = Math.min(pause * 1.5, POLL_MS)) {
      const { body } = await raw.call<Wire.WorkflowSteps>(['workflows', id, 'steps'], { signal });
      const ended = body.steps.filter(({ status }) => status !== 'pending' && status !== 'running').length;
      // A step that failed or was cancelled may have ended the workflow, whatever the others say.
      const broken = body.steps.some(({ status }) => status === 'failed' || status === 'cancelled');
      if (broken || ended === body.steps.length || performance.now() >= deadline) {
        const { text, body: workflow } = await raw.call<Wire.Workflow>(['workflows', id], { signal });
        if (hasEnded(workflow.status) || performance.now() >= deadline) return { text, status: workflow.status };
      }
      line.update(`${bar(ended, body.steps.length)}  ${ended}/${body.steps.length} steps`);
      await delay(pause, undefined, { signal });
    }
  } finally {
    line.clear();
  }
}

export const cancel: Run<(typeof specs)['workflowsCancel']['options']> = async (context) => {
  const { args, io, signal } = context;
  const connection = connect(context);
  const id = workflowId(connection, args[0]);
  await connection.raw.call(['workflows', id, 'cancel'], { method: 'POST', signal });
  await io.print(`cancelled ${id}`);
  return EXIT.ok;
};

export const diagram: Run<(typeof specs)['workflowsDiagram']['options']> = async (context) => {
  const { args, io, options, signal } = context;
  const connection = connect(context);
  const path = ['workflows', workflowId(connection, args[0]), 'diagram'];
  const { text, body } = await connection.raw.call<Wire.WorkflowDiagram>(path, { signal });
  await io.print(options.json ? text : plainLines(body.diagram.trimEnd()).join('\n'));
  return EXIT.ok;
};
