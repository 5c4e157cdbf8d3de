/** The SDK's worker with the tasks of the conformance kit (docs/conformance.md). */
import { setTimeout as sleep } from 'node:timers/promises';
import { NonRetryableError, task } from '@millrace/sdk';
import { jsonText, Worker } from '@millrace/sdk/worker';

const { MILLRACE_QUEUE: queue, MILLRACE_CONCURRENCY, MILLRACE_LEASE_SECS, MILLRACE_SHUTDOWN_SECS } = process.env;

async function post(beacon, event) {
  if (beacon === undefined) return;
  const headers = { 'content-type': 'application/json' };
  await fetch(beacon, { method: 'POST', headers, body: JSON.stringify({ event }) });
}

/** A task that tells the kit when it starts, ends or is told to stop. */
const conf = (name, run) =>
  task({ name: `conf.${name}`, queue }).handle(async (input, ctx) => {
    await post(input.beacon, 'started');
    try {
      const result = await run(input, ctx);
      await post(input.beacon, 'finished');
      return result;
    } catch (error) {
      if (ctx.signal.aborted) await post(input.beacon, 'aborted');
      throw error;
    }
  });

function block(ms) {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

function fail(message, retryable) {
  throw retryable === false ? new NonRetryableError(message) : new Error(message);
}

const handlers = [
  conf('echo', (_, { job }) => jsonText(job.payloadText)),
  conf('sleep', async ({ ms }, { signal }) => {
    await sleep(ms, undefined, { signal });
  }),
  conf('block', ({ ms }) => block(ms)),
  conf('fail', ({ message, retryable }) => fail(message, retryable)),
  conf('flaky', ({ failures }, { job }) => {
    if (job.attempt <= failures) fail(`failure ${job.attempt} of ${failures}`);
  }),
  conf('result', ({ bytes = 0, invalid }) => (invalid ? [] : { data: 'x'.repeat(bytes) })),
  conf('progress', async ({ steps = 3, ms = 100 }, { progress, signal }) => {
    for (let done = 1; done <= steps; done++) {
      progress({ done, of: steps });
      await sleep(ms, undefined, { signal });
    }
  }),
  conf('context', (seen) => ({ seen })),
  conf('exit', ({ code = 1 }) => process.exit(code)),
];

await new Worker({
  queues: { [queue]: Number(MILLRACE_CONCURRENCY) },
  lease: `${Number(MILLRACE_LEASE_SECS)}s`,
  shutdown: `${Number(MILLRACE_SHUTDOWN_SECS)}s`,
  handlers,
}).run();
// A handler that goes on must not keep the process.
process.exit(0);
