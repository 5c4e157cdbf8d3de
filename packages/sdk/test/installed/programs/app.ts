// Compiled by every supported compiler, in both formats, and run.
import { JobFailedError, Millrace, NonRetryableError, task, type } from '@millrace/sdk';
import { isSuspended } from '@millrace/sdk/durable';
import { otel } from '@millrace/sdk/otel';
import { resolveReferences } from '@millrace/sdk/references';
import { editDistance } from '@millrace/sdk/rules';
import { FakeServer } from '@millrace/sdk/testing';
import { Worker } from '@millrace/sdk/worker';

const double = task({ name: 'double', input: type<{ n: number }>(), output: type<{ n: number }>() });
// @ts-expect-error a number is expected
void double.with({ n: 'one' });

async function main(): Promise<void> {
  const fake = new FakeServer();
  const millrace = new Millrace(fake.options);
  const handler = double.handle(({ n }) => {
    if (n < 0) throw new NonRetryableError('negative');
    return { n: 2 * n };
  });
  const quiet = { debug() {}, info() {}, warn() {}, error() {} };
  const worker = new Worker({ ...fake.options, logger: quiet, queues: { tasks: 1 }, handlers: [handler] });
  const running = worker.run();
  const { n }: { n: number } = await (await millrace.enqueue(double, { n: 21 })).result();
  const failure: unknown = await (await millrace.enqueue(double, { n: -1 })).result().catch((error: unknown) => error);
  await worker.stop();
  const { completed, failed } = await running;
  const others = [typeof isSuspended, typeof otel, typeof resolveReferences, editDistance('a', 'b')];
  console.log(n, failure instanceof JobFailedError, completed, failed, ...others);
}
void main();
