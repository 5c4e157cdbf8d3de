import { connect } from '../connection/connect.js';
import type { Run } from '../invocation/context.js';
import type { jobsCancel } from '../specs/jobs.js';
import { EXIT } from '../invocation/exit.js';
import { since, words } from '../invocation/values.js';
import { changeMany } from './bulk.js';

const MOST_IDS = 1_000;

export const cancel: Run<(typeof jobsCancel)['options']> = async (context) => {
  const { args, io, options, signal } = context;
  const connection = connect(context);
  const ids = (await words(args, io, MOST_IDS)).map((id) => connection.recent.resolve('jobs', id));
  const [only] = ids;
  if (ids.length === 1 && only !== undefined && !options['dry-run']) {
    await connection.raw.call(['jobs', only, 'cancel'], { method: 'POST', signal });
    if (!options.json) await io.print(`cancelled ${only}`);
    return EXIT.ok;
  }
  return changeMany(context, connection, {
    action: 'cancel_jobs',
    ids,
    filter: {
      status: options.status,
      queue: options.queue,
      task: options.task,
      workflow_id: options.workflow && connection.recent.resolve('workflows', options.workflow),
      created_after: since('created-after', options['created-after']),
      created_before: since('created-before', options['created-before']),
    },
  });
};
