import { expect, test } from 'vitest';
import { isStillAside } from '../../src/lib/attention.js';

test.each([
  ['nothing', undefined, 'letters 1', false],
  ['dead letters, of which there are as many', 'letters 10', 'letters 10', true],
  ['dead letters, of which some are new', 'letters 10', 'letters 19', true],
  ['dead letters, of which there are twice as many', 'letters 10', 'letters 20', false],
  ['dead letters, of which there are fewer in the span', 'letters 10', 'letters 1', true],
  ['a queue that waits a little longer', 'slow 100', 'slow 199', true],
  ['a queue that waits twice as long', 'slow 100', 'slow 200', false],
  ['a queue where nobody works any more', 'slow 100', 'stuck 110', false],
  ['a queue where somebody works again', 'stuck 100', 'slow 110', true],
  ['a pause', 'paused 2031-01-01T00:00:00Z', 'paused 2031-01-01T00:00:00Z', true],
  ['a queue that was paused anew', 'paused 2031-01-01T00:00:00Z', 'paused 2031-01-02T00:00:00Z', false],
  ['what an earlier version put aside', '2031-01-01T00:00:00Z', 'letters 1', false],
])('what is put aside: %s', (_, before, now, stays) => {
  expect(isStillAside(before, now)).toBe(stays);
});
