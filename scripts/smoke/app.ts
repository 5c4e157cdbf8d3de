// Compiled, not run: the types of the packages, without skipLibCheck.
import { type Job } from '@millrace/contract';
import { Millrace, task, type } from '@millrace/sdk';
import { otel } from '@millrace/sdk/otel';
import { resolveReferences } from '@millrace/sdk/references';
import { FakeServer } from '@millrace/sdk/testing';
import { Worker } from '@millrace/sdk/worker';

const double = task({ name: 'double', input: type<{ n: number }>(), output: type<{ n: number }>() });
export const worker = new Worker({ queues: { tasks: 1 }, handlers: [double.handle(({ n }) => ({ n: 2 * n }))] });
export const result: Promise<{ n: number }> = new Millrace(new FakeServer().options)
  .enqueue(double, { n: 1 })
  .then((job) => job.result());
// @ts-expect-error a number is expected
export const wrong = double.with({ n: 'one' });
export const others: [typeof otel, typeof resolveReferences, Job['status']] = [otel, resolveReferences, 'pending'];
