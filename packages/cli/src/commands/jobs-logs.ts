import { jsonElements, jsonMember, type Wire } from '@millrace/sdk';
import { connect, type Connection } from '../connection/connect.js';
import type { Run } from '../invocation/context.js';
import { EXIT } from '../invocation/exit.js';
import { wholeNumber } from '../invocation/values.js';
import type { jobsLogs as spec } from '../specs/jobs.js';
import { plain } from '../terminal/plain.js';
import { jobId } from './jobs.js';

/** How long the server holds a call that follows, at most. */
const WAIT_SECS = 30;

/** What the handlers of a job wrote, page by page; following, until the job has ended. */
export const logs: Run<(typeof spec)['options']> = async (context) => {
  const { args, io, options, signal } = context;
  const connection = connect(context);
  const path = ['jobs', jobId(connection, args[0]), 'logs'];
  const attempt = wholeNumber('attempt', options.attempt, 1, 1_000_000);
  let after: string | undefined;
  let shown = 0;
  try {
    for (;;) {
      const query = { attempt, after, wait_secs: options.follow && after !== undefined ? WAIT_SECS : undefined };
      const { text, body } = await connection.raw.call<Wire.JobLogs>(path, { query, signal });
      if (after === undefined && body.omitted > 0) io.complain(`${body.omitted} lines were not kept\n`);
      const texts = [...jsonElements(jsonMember(text, 'lines') ?? '[]')];
      for (const [n, line] of body.lines.entries())
        await io.print(options.jsonl ? (texts[n] ?? '') : lineOf(line, texts[n] ?? '', connection));
      shown += body.lines.length;
      if (body.next === undefined || (!options.follow && body.lines.length === 0)) break;
      after = body.next;
    }
  } catch (error) {
    // Whoever follows ends it like this.
    if (!(options.follow && signal.aborted)) throw error;
  }
  if (shown === 0) io.complain('its handlers have not written anything\n');
  return EXIT.ok;
};

function lineOf({ at, level, message, attempt }: Wire.LogLine, text: string, { look }: Connection): string {
  const fields = jsonMember(text, 'fields') ?? '{}';
  const more = fields === '{}' || fields === 'null' ? '' : ` ${plain(fields)}`;
  return `${look.paint('dim', `${at} #${attempt}`)} ${level.padEnd(5)} ${plain(message)}${more}`;
}
