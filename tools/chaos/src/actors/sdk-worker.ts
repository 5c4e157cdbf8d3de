import { writeSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { task } from '@millrace/sdk';
import { Worker } from '@millrace/sdk/worker';
import { Random } from '@millrace/tools-shared';
import { readSettings } from '../stage/actors.js';

/** The worker of the SDK, until SIGTERM. It says which jobs it begins and ends, and at last how it stopped. */
const settings = readSettings();
const random = new Random(settings.seed);

const work = task({ name: settings.task, queue: settings.queue }).handle(async (_, { job }) => {
  say({ msg: 'begun', job: job.id });
  await sleep(random.between(...settings.workMs));
  say({ msg: 'ended', job: job.id });
});

const stopped = await new Worker({
  url: settings.urls[0]!,
  token: settings.workerToken,
  queues: { [settings.queue]: settings.maxJobs },
  handlers: [work],
  lease: `${settings.leaseSecs}s`,
}).run();
say({ msg: 'stopped', ...stopped });

/** Written before it returns, so it survives whatever comes next. */
function say(line: object): void {
  writeSync(1, `${JSON.stringify(line)}\n`);
}
