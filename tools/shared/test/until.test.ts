import { expect, it } from 'vitest';
import { until } from '../src/until.js';

it('polls until there is an answer, and returns it', async () => {
  const answers = [undefined, null, false, 'not yet', 0];
  expect(await until(() => answers.shift(), { everyMs: 1 })).toBe(0);
});

it('says what it waited for, and why it was not there', async () => {
  const waiting = until(() => 'two jobs left', { what: 'the queue to drain', withinMs: 1, everyMs: 1 });
  await expect(waiting).rejects.toThrow('waited 1 ms for the queue to drain: two jobs left');
});

it('passes on what the probe throws, at once', async () => {
  await expect(until(() => Promise.reject(new Error('gone')))).rejects.toThrow('gone');
});
