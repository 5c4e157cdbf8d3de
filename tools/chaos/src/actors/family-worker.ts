import { randomUUID } from 'node:crypto';
import { writeSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import type * as Sdk from '@millrace/sdk';
import type * as SdkWorker from '@millrace/sdk/worker';
import { monotonicMs, Random } from '@millrace/tools-shared';
import { readSettings } from '../stage/actors.js';

/**
 * The worker of the SDK, that of the build under test, with jobs that have children, until SIGTERM. A `parent` waits
 * for its children, and tells others of its beginning and its end; a `doomed` one waits for grandchildren that never
 * end, and leaves behind one job that is none of its business any more.
 */
const settings = readSettings();
const random = new Random(settings.seed);
const load = async <T>(module: string): Promise<T> =>
  (await import(pathToFileURL(join(settings.sdk, 'dist', module)).href)) as T;
const { task, type, NonRetryableError, ChildFailedError } = await load<typeof Sdk>('index.js');
const { Worker } = await load<typeof SdkWorker>('worker/index.js');

/** Killed attempts count as failures. */
const quick = { queue: settings.queue, retries: { max: 50, delay: '0s', jitter: 0 } } as const;
const child = task({ name: 'child', ...quick, input: type<{ parent: string; n: number }>() });
const note = task({ name: 'note', ...quick, input: type<{ parent: string; of: string }>() });
const middle = task({ name: 'middle', ...quick, input: type<{ n: number }>() });
const leaf = task({ name: 'leaf', ...quick, input: type<{ n: number }>() });

const handlers = [
  child.handle(async () => {
    await sleep(random.between(...settings.workMs));
    if (random.chance(settings.failRate)) throw new NonRetryableError('a child that fails');
    return { ended: true };
  }),
  note.handle(() => Promise.resolve({})),
  leaf.handle(async (_input, ctx) => {
    await ctx.sleep('for ever', '30d');
    return {};
  }),
  middle.handle(async ({ n }, ctx) => {
    await ctx.call('leaf', leaf, { n });
    return {};
  }),
  task({ name: 'parent', ...quick, input: type<{ children: number }>() }).handle(async ({ children }, ctx) => {
    const parent = ctx.job.id;
    const tell = async (of: string): Promise<void> => {
      const facts = { job: parent, step: of };
      let mine: string | null = null;
      const value = await ctx.step(of, async () => {
        mine = randomUUID();
        say({ msg: 'ran', ...facts, at: monotonicMs() });
        await ctx.enqueue(note, { parent, of });
        return mine;
      });
      say({ msg: 'kept', ...facts, value, mine, at: monotonicMs() });
    };
    await tell('begin');
    const calls = Array.from({ length: children }, (_, n) => child.with({ parent, n }));
    // A child that failed is an end like any other.
    await ctx.callAll('all', calls).catch((error: unknown) => {
      if (!(error instanceof ChildFailedError)) throw error;
    });
    await tell('end');
    return {};
  }),
  task({ name: 'doomed', ...quick, input: type<object>() }).handle(async (_input, ctx) => {
    await ctx.step('leave behind', async () => {
      await ctx.enqueue(leaf, { n: 0 });
      return null;
    });
    await ctx.callAll('all', [middle.with({ n: 1 }), middle.with({ n: 2 })]);
    return {};
  }),
];

await new Worker({
  url: settings.urls[0]!,
  token: settings.workerToken,
  queues: { [settings.queue]: settings.maxJobs },
  handlers,
  lease: `${settings.leaseSecs}s`,
}).run();

/** Written before it returns, so it survives whatever comes next. */
function say(line: object): void {
  writeSync(1, `${JSON.stringify(line)}\n`);
}
