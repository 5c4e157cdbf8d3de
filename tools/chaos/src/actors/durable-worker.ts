import { randomUUID } from 'node:crypto';
import { writeSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { task, type } from '@millrace/sdk';
import { Worker } from '@millrace/sdk/worker';
import { monotonicMs, Random } from '@millrace/tools-shared';
import { readSettings } from '../stage/actors.js';

/**
 * The worker of the SDK with a durable handler, until SIGTERM: steps around waits for signals. It says which steps it
 * runs, and what it was told that stands under their names.
 */
const settings = readSettings();
const random = new Random(settings.seed);

const work = task({ name: settings.task, queue: settings.queue, input: type<{ key: string }>() }).handle(
  async ({ key }, ctx) => {
    const step = async (name: string): Promise<void> => {
      const facts = { job: ctx.job.id, step: name };
      let mine: string | null = null;
      const value = await ctx.step(name, async () => {
        mine = randomUUID();
        say({ msg: 'ran', ...facts, at: monotonicMs() });
        await sleep(random.between(...settings.workMs));
        return mine;
      });
      say({ msg: 'kept', ...facts, value, mine, at: monotonicMs() });
    };
    await step('charge');
    await ctx.waitFor('paid', { signal: 'go', key, timeout: '1d' });
    await Promise.all([step('ship'), step('bill')]);
    await ctx.waitFor('received', { signal: 'go', key, timeout: '1d' });
    await step('close');
  },
);

await new Worker({
  url: settings.urls[0]!,
  token: settings.workerToken,
  queues: { [settings.queue]: settings.maxJobs },
  handlers: [work],
  lease: `${settings.leaseSecs}s`,
}).run();

/** Written before it returns, so it survives whatever comes next. */
function say(line: object): void {
  writeSync(1, `${JSON.stringify(line)}\n`);
}
