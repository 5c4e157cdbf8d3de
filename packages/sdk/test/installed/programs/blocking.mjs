// A handler that blocks its thread until a file is there: only a thread of its own can send heartbeats meanwhile.
import { existsSync } from 'node:fs';
import { task } from '@millrace/sdk';
import { Worker } from '@millrace/sdk/worker';

const handler = task({ name: 'block' }).handle((_, { progress }) => {
  progress({ blocks: true });
  while (!existsSync('go-on'));
  return { blocked: true };
});
await new Worker({ queues: { tasks: 1 }, handlers: [handler] }).run();
