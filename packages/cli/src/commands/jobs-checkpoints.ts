import { jsonElements, jsonMember, type Wire } from '@millrace/sdk';
import { connect, type Connection } from '../connection/connect.js';
import type { Run } from '../invocation/context.js';
import { EXIT } from '../invocation/exit.js';
import { table } from '../show/table.js';
import type { jobsCheckpoints as spec } from '../specs/jobs.js';
import { jobId } from './jobs.js';

/** What a durable job has stored. Values are shown as they came. */
export const checkpoints: Run<(typeof spec)['options']> = async (context) => {
  const { args, io, options, signal } = context;
  const connection = connect(context);
  const path = ['jobs', jobId(connection, args[0]), 'checkpoints'];
  const { text, body } = await connection.raw.call<Wire.Checkpoints>(path, { signal });
  if (options.json) await io.print(text);
  else if (body.checkpoints.length + body.waits.length === 0) io.complain('no checkpoints\n');
  else await io.print(shown(text, body, connection));
  return EXIT.ok;
};

function shown(text: string, { checkpoints: rows, waits }: Wire.Checkpoints, { look }: Connection): string {
  const values = [...jsonElements(jsonMember(text, 'checkpoints') ?? '[]')].map((row) => jsonMember(row, 'value'));
  const stored = rows.map((row, n) => ({ ...row, text: values[n] }));
  const first = table<(typeof stored)[number]>(
    [
      { title: 'NAME', kind: 'text', cell: ({ name }) => name },
      { title: 'ATTEMPT', kind: 'number', cell: ({ attempt }) => attempt },
      { title: 'STORED', cell: ({ at }) => at },
      { title: 'VALUE', kind: 'text', cell: (row) => row.text },
    ],
    stored,
    look,
  );
  const second = table<Wire.Checkpoints['waits'][number]>(
    [
      { title: 'WAITS FOR', kind: 'text', cell: ({ name }) => name },
      { title: 'UNTIL', cell: ({ until }) => until },
    ],
    waits,
    look,
  );
  return [...(rows.length > 0 ? [first] : []), ...(waits.length > 0 ? [second] : [])].join('\n\n');
}
