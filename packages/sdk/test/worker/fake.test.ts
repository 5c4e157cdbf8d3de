import { Millrace, silentLogger } from '@millrace/sdk';
import { FakeServer } from '@millrace/sdk/testing';
import { Worker } from '@millrace/sdk/worker';
import { expect, it } from 'vitest';
import { freshTask } from '../support/worker-kit.js';

it('a worker runs the jobs of the fake server', async () => {
  const add = freshTask('add');
  const fake = new FakeServer();
  const worker = new Worker({
    ...fake.options,
    queues: { [add.queue]: 2 },
    handlers: [add.handle(({ a, b }) => ({ sum: a + b }))],
    logger: silentLogger,
    signals: false,
  });
  const running = worker.run();
  const job = await new Millrace(fake.options).enqueue(add, { a: 1, b: 2 });
  expect(await job.result()).toEqual({ sum: 3 });
  await worker.stop();
  expect(await running).toEqual({ completed: 1, failed: 0, released: 0 });
});

it('a hook that throws before a report costs nothing but the span', async () => {
  const add = freshTask('add');
  const fake = new FakeServer();
  const errors: string[] = [];
  const worker = new Worker({
    ...fake.options,
    queues: { [add.queue]: 2 },
    handlers: [add.handle(({ a, b }) => ({ sum: a + b }))],
    hooks: {
      onReport: () => {
        throw new Error('no trace today');
      },
    },
    logger: { ...silentLogger, error: (message) => void errors.push(message) },
    signals: false,
  });
  const running = worker.run();
  const job = await new Millrace(fake.options).enqueue(add, { a: 1, b: 2 });
  expect(await job.result()).toEqual({ sum: 3 });
  await worker.stop();
  expect(await running).toEqual({ completed: 1, failed: 0, released: 0 });
  expect(errors).toEqual(['onReport threw: Error: no trace today']);
});
