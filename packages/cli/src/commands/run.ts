import { jsonMember, type Wire } from '@millrace/sdk';
import { connect, type Connection } from '../connection/connect.js';
import type { Context, Run } from '../invocation/context.js';
import type { run as spec } from '../specs/jobs.js';
import { plain } from '../terminal/plain.js';
import { EXIT, Misuse } from '../invocation/exit.js';
import { durationMs, instant, jsonObject, jsonText, quoted, seconds, wholeNumber } from '../invocation/values.js';
import { queuesOfTask } from './task-queues.js';
import { waitForJob } from './wait-for-job.js';

type Options = (typeof spec)['options'];

export const run: Run<Options> = async (context) => {
  const { io, options, signal } = context;
  const body = await bodyOf(context);
  const timeoutMs = durationMs('timeout', options.timeout);
  const connection = connect(context);
  const request = { method: 'POST', body, key: options.key ?? true, signal } as const;
  const created = await connection.raw.call<Wire.JobCreated>(['jobs'], request);
  const id = created.body.job_id;
  connection.recent.made('jobs', id);
  // The warning itself was printed when the answer came.
  if (created.body.warnings !== undefined && options.queue === undefined) await offerQueues(context, connection, id);
  if (!options.wait) {
    await io.print(options.json ? created.text : id);
    return EXIT.ok;
  }
  const { text, ended } = await waitForJob(context, connection, id, timeoutMs);
  const job = JSON.parse(text) as Wire.Job;
  if (options.json) await io.print(text);
  if (!ended) {
    io.complain(`millrace: the job ${id} is still ${job.status}; it has not been cancelled\n`);
    return EXIT.pending;
  }
  if (job.status !== 'completed') {
    const reason = job.error_message === null ? '' : `: ${plain(job.error_message)}`;
    io.complain(`millrace: the job ${id} ${job.status === 'failed' ? 'failed' : 'was cancelled'}${reason}\n`);
    return EXIT.jobFailed;
  }
  if (!options.json) await io.print(jsonMember(text, 'result') ?? '{}');
  return EXIT.ok;
};

/** No server process runs it: where it ran before, somebody does. */
async function offerQueues({ args, io, signal }: Context<Options>, connection: Connection, id: string): Promise<void> {
  const task = args[0] ?? '';
  const queues = await queuesOfTask(connection, task, { but: id, signal });
  if (queues.length === 0) return;
  const named = queues.map((queue) => `--queue=${queue}`).join(' or ');
  io.complain(`millrace: ${plain(`jobs of the task ${task} were on other queues before: ${named}`)}\n`);
}

const uniqueOf = (key: string, state = 'waiting'): string => jsonText({ key: quoted(key), while: quoted(state) });

/** The body of the request. JSON that was given stays text. */
async function bodyOf({ args, io, options }: Context<Options>): Promise<string> {
  if (options.delay !== undefined && options.at !== undefined) throw new Misuse('give --delay or --at, not both');
  if (options.while !== undefined && options.unique === undefined) throw new Misuse('--while needs --unique');
  const payload = await jsonObject('PAYLOAD', args[1] ?? '{}', io);
  const metadata = options.metadata === undefined ? undefined : await jsonObject('--metadata', options.metadata, io);
  const config = jsonText({
    queue: quoted(options.queue),
    priority: quoted(wholeNumber('priority', options.priority, -(2 ** 31), 2 ** 31 - 1)),
    max_retries: quoted(wholeNumber('retries', options.retries, 0, 1_000)),
    retry_backoff: quoted(options.backoff),
    retry_delay_secs: quoted(seconds('retry-delay', options['retry-delay'])),
    timeout_secs: quoted(seconds('job-timeout', options['job-timeout'])),
    expires_secs: quoted(seconds('expires', options.expires)),
    unique: options.unique === undefined ? undefined : uniqueOf(options.unique, options.while),
  });
  return jsonText({
    task_name: quoted(args[0]),
    payload,
    config: config === '{}' ? undefined : config,
    delay_secs: quoted(seconds('delay', options.delay)),
    run_at: quoted(instant('at', options.at)),
    metadata,
  });
}
