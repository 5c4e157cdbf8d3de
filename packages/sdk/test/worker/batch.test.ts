import { NonRetryableError } from '@millrace/sdk';
import { FakeServer, runHandler } from '@millrace/sdk/testing';
import { Millrace } from '@millrace/sdk';
import { describe, expect, it } from 'vitest';
import { freshTask, recordingLogger, useWorkerKit } from '../support/worker-kit.js';

describe('a batch handler', async () => {
  const { millrace, start } = await useWorkerKit();

  it('gets jobs that run at the same time in one call, and gives each its own outcome', async () => {
    const record = freshTask('record', { retries: { max: 0 } });
    const sizes: number[] = [];
    const handler = record.handleMany(
      (inputs, { jobs }) => {
        sizes.push(inputs.length);
        return inputs.map(({ n }, index) =>
          n === 2 ? new NonRetryableError('not two') : { n: 10 * n, id: jobs[index]!.job.id },
        );
      },
      // Nobody would wait for this: all slots are taken, so no other job can come.
      { size: 10, linger: '1h' },
    );
    const handles = await millrace.enqueueMany([1, 2, 3, 4].map((n) => record.with({ n })));
    start([handler]);
    const [one, two, three] = handles;
    expect(await one!.result()).toEqual({ n: 10, id: one!.id });
    await expect(two!.result()).rejects.toThrow('not two');
    expect(await three!.result()).toEqual({ n: 30, id: three!.id });
    expect(sizes).toEqual([4]);
  });

  it('waits a moment for others, and fails all of a call that throws or miscounts', async () => {
    const record = freshTask('record', { retries: { max: 0 } });
    const { logger, lines } = recordingLogger();
    start([record.handleMany(({ length }) => Array(length + 1).fill({}), { linger: '10ms' })], { logger });
    const job = await millrace.enqueue(record);
    await expect(job.result()).rejects.toThrow('1 were expected, and 2 came');
    expect(lines.map(({ message }) => message)).toContainEqual(expect.stringContaining('takes batches of up to 100'));
  });

  it('refuses sizes that make no sense', () => {
    for (const size of [0, 1.5, 1_001])
      expect(() => freshTask('record').handleMany(() => [], { size })).toThrow('the size of a batch is 1 to 1000');
  });

  it('runs in tests, where nobody else comes', async () => {
    const record = freshTask('record');
    const handler = record.handleMany((inputs) => inputs.map(() => ({ of: inputs.length })), { linger: '1h' });
    expect((await runHandler(handler, { n: 1 })).result).toEqual({ of: 1 });
    const fake = new FakeServer();
    const client = new Millrace(fake.options);
    await client.enqueueMany([1, 2, 3].map((n) => record.with({ n })));
    await fake.drain([handler]);
    expect(fake.jobs.map(({ result }) => result)).toEqual(Array(3).fill({ of: 3 }));
  });
});
