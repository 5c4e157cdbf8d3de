// A handler that blocks its thread until a file is there: only a thread of its own can send heartbeats meanwhile.
const { existsSync } = require('node:fs');
const { task } = require('@millrace/sdk');
const { Worker } = require('@millrace/sdk/worker');

const handler = task({ name: 'block' }).handle((_, { progress }) => {
  progress({ blocks: true });
  while (!existsSync('go-on'));
  return { blocked: true };
});
new Worker({ queues: { tasks: 1 }, handlers: [handler] }).run();
