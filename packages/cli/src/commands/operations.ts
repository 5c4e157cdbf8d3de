import type { Wire } from '@millrace/sdk';
import { connect, type Connection } from '../connection/connect.js';
import type { Run } from '../invocation/context.js';
import { EXIT } from '../invocation/exit.js';
import { showList } from '../show/list.js';
import { refreshing } from '../show/refresh.js';
import { fields } from '../show/table.js';
import { age } from '../show/time.js';
import type * as specs from '../specs/operations.js';
import { followOperation, summary } from './bulk.js';

export const list: Run<(typeof specs)['operationsList']['options']> = async (context) =>
  showList<Wire.Operation>(context, connect(context), {
    path: ['operations'],
    rows: 'operations',
    query: {},
    columns: (now) => [
      { title: 'ID', kind: 'id', cell: ({ id }) => id },
      { title: 'ACTION', cell: ({ action }) => action },
      { title: 'STATUS', kind: 'state', cell: ({ status }) => status },
      { title: 'MATCHED', kind: 'number', cell: ({ matched }) => `${matched.exact ? '' : '~'}${matched.n}` },
      { title: 'CHANGED', kind: 'number', cell: ({ changed }) => changed },
      { title: 'SKIPPED', kind: 'number', cell: ({ skipped }) => skipped },
      { title: 'AGE', cell: ({ created_at: at }) => age(at, now) },
    ],
    kind: 'operations',
    id: ({ id }) => id,
    nothing: 'no operations',
  });

const operationId = ({ recent }: Connection, text: string | undefined): string =>
  recent.resolve('operations', text ?? '');

export const get: Run<(typeof specs)['operationsGet']['options']> = async (context) => {
  const { args, io, options, signal } = context;
  const connection = connect(context);
  const id = operationId(connection, args[0]);
  return refreshing(context, async () => {
    const { text, body } = await connection.raw.call<Wire.Operation>(['operations', id], { signal });
    await io.print(options.json ? text : operationText(body, connection));
    return EXIT.ok;
  });
};

const operationText = (operation: Wire.Operation, { look }: Connection): string =>
  fields(
    [
      ['id', operation.id],
      ['action', operation.action],
      ['filter', operation.filter === null ? null : JSON.stringify(operation.filter)],
      ['status', operation.status],
      ['matched', `${operation.matched.exact ? '' : 'at least '}${operation.matched.n}`],
      ['done', operation.done],
      ['changed', operation.changed],
      ['skipped', operation.skipped],
      ['replayed jobs', operation.action === 'replay_dead_letters' ? outcomes(operation) : null],
      ['created', operation.created_at],
      ['completed', operation.completed_at],
    ],
    look.paint,
  );

const outcomes = ({ outcome }: Wire.Operation): string =>
  `${outcome.completed} completed, ${outcome.failed} failed, ${outcome.unfinished} unfinished`;

export const stop: Run<(typeof specs)['operationsStop']['options']> = async (context) => {
  const { args, io, signal } = context;
  const connection = connect(context);
  const id = operationId(connection, args[0]);
  await connection.raw.call(['operations', id, 'stop'], { method: 'POST', signal });
  await io.print(`stopped ${id}`);
  return EXIT.ok;
};

export const watch: Run<(typeof specs)['operationsWatch']['options']> = async (context) => {
  const { args, io, options } = context;
  const connection = connect(context);
  const told = async (text: string): Promise<void> => (options.jsonl ? io.print(text) : undefined);
  const { body } = await followOperation(context, connection, operationId(connection, args[0]), told);
  if (!options.jsonl) await io.print(summary(body));
  return body.status === 'completed' ? EXIT.ok : EXIT.failed;
};
