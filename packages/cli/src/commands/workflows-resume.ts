import type { Wire } from '@millrace/sdk';
import { connect, type Connection } from '../connection/connect.js';
import type { Context, Run } from '../invocation/context.js';
import { EXIT, Misuse } from '../invocation/exit.js';
import { jsonObject, since } from '../invocation/values.js';
import type { workflowsResume } from '../specs/workflows.js';
import type { Values } from '../specs/spec.js';
import { plain } from '../terminal/plain.js';
import { changeMany } from './bulk.js';

type Options = Values<(typeof workflowsResume)['options']>;

export const resume: Run<(typeof workflowsResume)['options']> = async (context) => {
  const { args, options } = context;
  const connection = connect(context);
  const ids = args.map((id) => connection.recent.resolve('workflows', id));
  const [only] = ids;
  if (ids.length === 1 && only !== undefined) return resumeOne(context, connection, only);
  if (options.from.length > 0 || options.context !== undefined || options.key !== undefined)
    throw new Misuse('--from, --context and --key go with the id of one workflow');
  return changeMany(context, connection, {
    action: 'resume_workflows',
    ids,
    filter: {
      status: options.status,
      name: options.name,
      created_after: since('created-after', options['created-after']),
      created_before: since('created-before', options['created-before']),
    },
  });
};

async function resumeOne(
  { io, options, signal }: Pick<Context, 'io' | 'signal'> & { readonly options: Options },
  { raw }: Connection,
  id: string,
): Promise<number> {
  if (options.status !== undefined || options.name !== undefined) throw new Misuse('give ids or a filter, not both');
  const parts = [
    ...(options.from.length > 0 ? [`"steps":${JSON.stringify(options.from)}`] : []),
    // As it was written: numbers keep their digits.
    ...(options.context === undefined ? [] : [`"context":${await jsonObject('--context', options.context, io)}`]),
    ...(options['dry-run'] ? ['"dry_run":true'] : []),
  ];
  const answer = await raw.call<Wire.WorkflowResumed>(['workflows', id, 'resume'], {
    method: 'POST',
    body: `{${parts.join(',')}}`,
    key: options.key ?? true,
    signal,
  });
  const steps = answer.body.steps.map(plain).join(', ');
  if (options.json) await io.print(answer.text);
  else await io.print(options['dry-run'] ? `would run again: ${steps}` : `resumed ${id}: ${steps}`);
  return EXIT.ok;
}
