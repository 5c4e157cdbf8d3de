import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import type { Wire } from '@millrace/sdk';
import { isObject } from '@millrace/sdk/rules';
import { connect } from '../connection/connect.js';
import type { Context, Run } from '../invocation/context.js';
import { bar, ProgressLine } from '../show/progress.js';
import type { jobsImport } from '../specs/jobs.js';
import { EXIT, Misuse } from '../invocation/exit.js';

/** As many as one request may create. */
const MOST_LINES = 1_000;
/** A server takes 16 MiB by default; far below that, so that one refused batch costs little. */
const MOST_BYTES = 4 * 1024 * 1024;
const MOST_LINE = 16 * 1024 * 1024;

interface Batch {
  readonly lines: readonly string[];
  /** How much of the input lies before its end. */
  readonly bytes: number;
}

/** Creates jobs from lines, batch by batch; text is sent as it stands in the file. */
export const importJobs: Run<(typeof jobsImport)['options']> = async (context) => {
  const { args, io, options, signal } = context;
  const file = args[0] ?? '-';
  const size = file === '-' ? null : await sizeOf(file);
  const connection = connect(context);
  const line = new ProgressLine(io);
  let created = 0;
  try {
    let batches = 0;
    for await (const { lines, bytes } of batchesOf(linesOf(context, file))) {
      const request = { method: 'POST', body: `{"jobs":[${lines.join(',')}]}`, signal } as const;
      const key = options.key === undefined ? true : batchKey(options.key, batches++);
      const { text, body } = await connection.raw.call<Wire.JobBatchCreated>(['jobs', 'batch'], { ...request, key });
      created += body.count;
      const last = body.job_ids.at(-1);
      if (last !== undefined) connection.recent.made('jobs', last);
      line.clear();
      if (options.jsonl) await io.print(text);
      line.update(`${size === null ? '' : `${bar(bytes, size)}  `}${created} jobs`);
    }
  } catch (error) {
    line.clear();
    if (created > 0 || options.key !== undefined)
      io.complain(`millrace: ${created} jobs had been created before this:\n`);
    throw error;
  }
  line.clear();
  if (!options.jsonl) await io.print(`created ${created} job${created === 1 ? '' : 's'}`);
  return EXIT.ok;
};

/** Keys have 255 characters; a long one of the user's is hashed. */
const batchKey = (key: string, batch: number): string =>
  `${key.length > 200 ? createHash('sha256').update(key).digest('hex') : key}:${batch}`;

async function sizeOf(file: string): Promise<number> {
  try {
    return (await stat(file)).size;
  } catch {
    throw new Misuse('FILE cannot be read');
  }
}

interface Line {
  readonly text: string;
  readonly bytes: number;
}

/** The lines that are not blank, checked. A line is numbered as an editor numbers it. */
async function* linesOf({ io }: Pick<Context, 'io'>, file: string): AsyncGenerator<Line> {
  const input = file === '-' ? io.read() : (createReadStream(file, { encoding: 'utf8' }) as AsyncIterable<string>);
  let [rest, number, bytes] = ['', 0, 0];
  for await (const chunk of input) {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    if (rest.length > MOST_LINE) throw new Misuse(`line ${number + lines.length + 1} is longer than 16 MiB`);
    for (const text of lines) {
      bytes += Buffer.byteLength(text) + 1;
      number++;
      if (text.trim() !== '') yield { text: checked(text, number), bytes };
    }
  }
  if (rest.trim() !== '') yield { text: checked(rest, number + 1), bytes: bytes + Buffer.byteLength(rest) };
}

function checked(text: string, number: number): string {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new Misuse(`line ${number} is not JSON`);
  }
  if (isObject(value)) return text.trim();
  throw new Misuse(`line ${number} is not a JSON object`);
}

async function* batchesOf(lines: AsyncIterable<Line>): AsyncGenerator<Batch> {
  let [batch, held, end] = [[] as string[], 0, 0];
  for await (const { text, bytes } of lines) {
    if (batch.length > 0 && held + text.length > MOST_BYTES) {
      yield { lines: batch, bytes: end };
      [batch, held] = [[], 0];
    }
    batch.push(text);
    [held, end] = [held + text.length, bytes];
    if (batch.length < MOST_LINES) continue;
    yield { lines: batch, bytes: end };
    [batch, held] = [[], 0];
  }
  if (batch.length > 0) yield { lines: batch, bytes: end };
}
