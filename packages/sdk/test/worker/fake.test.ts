import { Millrace, silentLogger, task } from '@millrace/sdk';
import { FakeServer } from '@millrace/sdk/testing';
import { Worker } from '@millrace/sdk/worker';
import { expect, it } from 'vitest';
import { freshTask, until } from '../support/worker-kit.js';

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

it('a job of a task that nobody knows goes back with a pause that grows, and is warned of once', async () => {
  const known = freshTask('known');
  const fake = new FakeServer();
  const warnings: string[] = [];
  const worker = new Worker({
    ...fake.options,
    queues: { [known.queue]: 2 },
    handlers: [known.handle(() => undefined)],
    logger: { ...silentLogger, warn: (message) => void warnings.push(message) },
    signals: false,
  });
  const running = worker.run();
  const millrace = new Millrace(fake.options);
  const job = await millrace.enqueue(task({ name: 'unheard-of', queue: known.queue }), {}, { retries: { max: 0 } });
  const pauses: number[] = [];
  for (let delivery = 1; delivery <= 8; delivery++) {
    const found = await until(async () => {
      const record = await job.get();
      return record.status === 'pending' && record.deliveryCount === delivery ? record : record.status;
    });
    pauses.push((found.scheduledAt.getTime() - fake.now.getTime()) / 1_000);
    await fake.advance(`${pauses.at(-1)!}s`);
  }
  expect(pauses).toEqual([5, 10, 20, 40, 80, 160, 300, 300]);
  expect(await job.get()).toMatchObject({ retryCount: 0, errorMessage: null });
  expect(warnings.filter((message) => message.includes('unheard-of'))).toHaveLength(1);
  await worker.stop();
  await running;
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
