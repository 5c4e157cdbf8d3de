// A process with both formats: `millrace worker` is imported, and runs handlers that were required.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { JobFailedError, Millrace, NonRetryableError, RetryAfterError } from '@millrace/sdk';
import { FakeServer } from '@millrace/sdk/testing';
import { Worker } from '@millrace/sdk/worker';

const require = createRequire(import.meta.url);
const { errors, flow, handlers, tasks } = require('./handlers.cjs');
assert.notEqual(errors.NonRetryableError, NonRetryableError, 'there are two copies');

const fake = new FakeServer({ now: new Date('2031-01-31T09:00:00Z') });
const millrace = new Millrace(fake.options);
const quiet = { debug() {}, info() {}, warn() {}, error() {} };
const worker = new Worker({ ...fake.options, logger: quiet, queues: { tasks: 4 }, handlers });
const running = worker.run();

const failed = await (await millrace.enqueue(tasks.fail)).result().catch((error) => error);
assert.ok(failed instanceof JobFailedError && failed.job.retryCount === 0, 'a permanent failure is known as one');
const job = await millrace.enqueue(tasks.later);
let seen = await job.get();
for await (const state of job.watch()) {
  seen = state;
  if (state.status === 'retrying') break;
}
assert.equal(seen.nextRetryAt.toISOString(), '2031-01-31T09:01:30.000Z', 'the delay of the handler is heeded');
assert.deepEqual(await (await millrace.enqueue(tasks.precise)).result(), { n: 1000 });
assert.deepEqual((await (await millrace.start(flow, {})).result()).second, { n: 1000 });
await worker.stop();
await running;

const theirs = require('@millrace/sdk');
class Own extends theirs.NonRetryableError {}
assert.ok(new theirs.RetryAfterError('x', '1s') instanceof RetryAfterError);
assert.ok(new Own('x') instanceof NonRetryableError);
assert.ok(!(new theirs.NonRetryableError('x') instanceof RetryAfterError));
assert.ok(!(new NonRetryableError('x') instanceof Own));
console.log('ok');
