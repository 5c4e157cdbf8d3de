import { expect, test } from 'vitest';
import { backoffWords } from '../../src/pages/job/backoff-words.js';

const config = {
  retry_backoff: 'exponential',
  retry_delay_secs: 5,
  retry_max_delay_secs: 3600,
  jitter_factor: 0.1,
} as const;

test('waits between attempts are told from the first to the longest', () => {
  expect(backoffWords(config)).toBe('exponential, 5 s to 1 h, ±10%');
});

test.each([
  ['of one length', { retry_backoff: 'fixed' }, 'fixed, 5 s, ±10%'],
  ['as long as they may be at once', { retry_max_delay_secs: 3 }, 'exponential, 3 s, ±10%'],
  ['without jitter', { jitter_factor: 0 }, 'exponential, 5 s to 1 h'],
] as const)('waits %s', (_, change, words) => {
  expect(backoffWords({ ...config, ...change })).toBe(words);
});
