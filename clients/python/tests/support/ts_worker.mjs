// A worker and a producer in TypeScript's SDK, for the tests of tasks that both languages share.
import { Millrace, task, type, workflow } from '@millrace/sdk';
import { Worker } from '@millrace/sdk/worker';

const queue = process.env.TEST_QUEUE;
const url = process.env.MILLRACE_URL;
const measure = task({ name: 'measure', queue: `${queue}-ts`, input: type(), output: type() });
const shout = task({ name: 'shout', queue: `${queue}-py`, input: type(), output: type() });
const client = new Millrace({ url });

if (process.argv[2] === 'produce') {
  const job = await client.enqueue(shout, { text: 'grüße 🦊', big: 1, ratio: 1.1 });
  const flow = workflow({ name: `mixed-${queue}`, input: type() })
    .step('measure', measure, { payload: ({ input }) => ({ text: input.text }) })
    .step('shout', shout, { after: ['measure'], payload: ({ steps }) => ({ text: 'x', big: steps.measure.length }) });
  const run = await client.start(flow, { text: 'four' });
  console.log(JSON.stringify({ job: await job.result({ timeout: '60s' }), run: await run.result({ timeout: '60s' }) }));
} else {
  const handlers = [measure.handle(({ text, of = [] }) => ({ length: text.length, of }))];
  const worker = new Worker({ url, queues: { [`${queue}-ts`]: 4 }, handlers, poll: '2s', client });
  await worker.run();
  process.exit(0);
}
