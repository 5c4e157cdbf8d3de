import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Millrace, WaitTimeoutError } from '@millrace/sdk';
import { FakeServer } from '@millrace/sdk/testing';
import { prepare } from './app.js';
import { handlers } from './handlers.js';
import { thumbnails, watermark } from './tasks.js';

test('images are resized and published', async () => {
  const fake = new FakeServer();
  const millrace = new Millrace(fake.options);
  const run = await millrace.start(thumbnails, { image: 'cat' });
  await fake.drain(handlers);
  await fake.advance('1h'); // what failed is tried again
  await fake.drain(handlers);
  const { publish } = await run.result();
  assert.equal(publish.page, 'cat: cat-100.png cat-400.png cat-1600.png');
});

test('the sweep runs at half past three in Berlin', async () => {
  const fake = new FakeServer({ now: new Date('2031-07-01T00:00:00Z') });
  await prepare(new Millrace(fake.options));
  await fake.advance('89m');
  assert.equal(fake.jobs.length, 0);
  await fake.advance('2m');
  assert.deepEqual(
    fake.jobs.map(({ task }) => task),
    ['sweep'],
  );
});

test('waiting for what nobody runs ends by the clock of the test', async () => {
  const fake = new FakeServer();
  const job = await new Millrace(fake.options).enqueue(watermark);
  const waiting = assert.rejects(job.result({ timeout: '1h' }), WaitTimeoutError);
  await fake.advance('2h');
  await waiting;
});
