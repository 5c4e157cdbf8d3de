// The TypeScript worker with a task that does nothing.
import { task } from '@millrace/sdk';
import { Worker } from '@millrace/sdk/worker';

const queue = process.env.BENCH_QUEUE;
const noop = task({ name: 'noop', queue }).handle(async () => undefined);
await new Worker({ queues: { [queue]: Number(process.env.BENCH_SLOTS) }, handlers: [noop] }).run();
process.exit(0);
