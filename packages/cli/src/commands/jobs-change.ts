import type { Wire } from '@millrace/sdk';
import { connect, type Connection } from '../connection/connect.js';
import type { Context, Run } from '../invocation/context.js';
import type { jobsCancel, jobsRerun, jobsRunNow } from '../specs/jobs.js';
import type { Values } from '../specs/spec.js';
import { EXIT, Misuse } from '../invocation/exit.js';
import { jsonText, metadataField, since, words } from '../invocation/values.js';
import { changeMany, type Change } from './bulk.js';

const MOST_IDS = 1_000;

/** What all commands that change one job or many have in common. */
type Changing = Pick<Context, 'args' | 'io' | 'signal'> & {
  readonly options: Values<(typeof jobsCancel)['options']>;
};

interface Action {
  readonly action: Change['action'];
  /** What is done to a single job, at once and without a question. */
  readonly one: (id: string) => Promise<void>;
  /** What goes with a single job only, and was given. */
  readonly alone?: string | undefined;
}

/** A single id is a call of its own; several ids, a filter or a dry run are an operation. */
async function changeJobs(context: Changing, connection: Connection, { action, one, alone }: Action): Promise<number> {
  const { args, io, options } = context;
  const ids = (await words(args, io, MOST_IDS)).map((id) => connection.recent.resolve('jobs', id));
  const [only] = ids;
  if (ids.length === 1 && only !== undefined && !options['dry-run']) {
    await one(only);
    return EXIT.ok;
  }
  if (alone !== undefined) throw new Misuse(`${alone} is for one id`);
  return changeMany(context, connection, { action, ids, filter: filterOf(options, connection) });
}

function filterOf(options: Changing['options'], { recent }: Connection): Change['filter'] {
  const metadata = metadataField(options.metadata);
  return {
    status: options.status,
    queue: options.queue,
    due: options.due === undefined ? undefined : options.due === 'yes',
    task: options.task,
    error: options.error,
    metadata: metadata && { [metadata.name]: metadata.value },
    workflow_id: options.workflow && recent.resolve('workflows', options.workflow),
    created_after: since('created-after', options['created-after']),
    created_before: since('created-before', options['created-before']),
  };
}

export const cancel: Run<(typeof jobsCancel)['options']> = async (context) => {
  const { io, options, signal } = context;
  const connection = connect(context);
  const one = async (id: string): Promise<void> => {
    await connection.raw.call(['jobs', id, 'cancel'], { method: 'POST', signal });
    if (!options.json) await io.print(`cancelled ${id}`);
  };
  return changeJobs(context, connection, { action: 'cancel_jobs', one });
};

export const runNow: Run<(typeof jobsRunNow)['options']> = async (context) => {
  const { io, options, signal } = context;
  const connection = connect(context);
  const one = async (id: string): Promise<void> => {
    await connection.raw.call(['jobs', id, 'run-now'], { method: 'POST', signal });
    if (!options.json) await io.print(`${id} is due now`);
  };
  return changeJobs(context, connection, { action: 'run_jobs_now', one });
};

export const rerun: Run<(typeof jobsRerun)['options']> = async (context) => {
  const { io, options, signal } = context;
  const connection = connect(context);
  const keeps = options['keep-checkpoints'];
  const one = async (id: string): Promise<void> => {
    const kept = keeps && { body: jsonText({ keep_checkpoints: 'true' }) };
    const request = { method: 'POST', key: options.key ?? true, signal, ...kept } as const;
    const created = await connection.raw.call<Wire.JobCreated>(['jobs', id, 'rerun'], request);
    connection.recent.made('jobs', created.body.job_id);
    await io.print(options.json ? created.text : created.body.job_id);
  };
  const alone = options.key === undefined ? (keeps ? '--keep-checkpoints' : undefined) : '--key';
  return changeJobs(context, connection, { action: 'rerun_jobs', one, alone });
};
