/** The SDK's worker with the tasks of the conformance kit (docs/conformance.md). */
import { setTimeout as sleep } from 'node:timers/promises';
import { NonRetryableError, task } from '@millrace/sdk';
import { jsonText, Worker } from '@millrace/sdk/worker';

const { MILLRACE_QUEUE: queue, MILLRACE_CONCURRENCY, MILLRACE_LEASE_SECS, MILLRACE_SHUTDOWN_SECS } = process.env;

async function post(beacon, event, step) {
  if (beacon === undefined) return;
  const headers = { 'content-type': 'application/json' };
  await fetch(beacon, { method: 'POST', headers, body: JSON.stringify({ event, step }) });
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

/** Each line of a program is a step, a sleep, a wait or a failure. */
async function durable({ program, beacon }, ctx) {
  const results = {};
  for (const line of program) {
    if (line.fail_on !== undefined && line.fail_on === ctx.job.attempt) fail(`failure ${line.fail_on}`);
    if (line.sleep !== undefined) await ctx.sleep(line.sleep, `${line.secs}s`);
    if (line.wait !== undefined) results[line.wait] = await ctx.waitFor(line.wait, { timeout: `${line.secs}s` });
    if (line.step === undefined) continue;
    results[line.step] = await ctx.step(line.step, async () => {
      await post(beacon, 'ran', line.step);
      await sleep(line.ms ?? 0);
      return line.value;
    });
  }
  return { results };
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
  conf('durable', durable),
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
