import cronstrue from 'cronstrue';
import { expect, test } from 'vitest';
import { wordsOf } from '../../../src/pages/cron/words.js';

/** What the words of a library that knows every dialect are measured by; it is too large for the page. */
const reference = (expression: string): string =>
  cronstrue.toString(expression, { use24HourTimeFormat: true, verbose: false });

test.each([
  '* * * * *',
  '*/5 * * * *',
  '0 * * * *',
  '15 * * * *',
  '0 */6 * * *',
  '30 9 * * *',
  '30 9 * * 1-5',
  '0 7 * * mon-fri',
  '0 0 * * 0',
  '0 0 * * 7',
  '0 0 1 * *',
  '0 0 1 1 *',
  '0 9,12,18 * * *',
  '0 9 * * 1,3,5',
  '0 9 * * 6,0',
  '0 0 1,15 * *',
  '0 0 1 jan,jul *',
  '0 0 1 3-5 *',
  '*/10 9-17 * * *',
  '*/15 9-17 * * 1-5',
  '0,30 * * * *',
  '0 4 10-20 * *',
  '0 30 9 * * *',
  '* * * * * *',
  '*/20 * * * * *',
])('%s is told in the words of the reference', (expression) => {
  expect(wordsOf(expression)).toBe(reference(expression));
});

test('a nickname is told by what it stands for', () => {
  expect(wordsOf('@daily')).toBe('At 00:00');
  expect(wordsOf('@Hourly')).toBe('Every hour');
});

test.each([
  '',
  'never',
  '* * *',
  '61 * * * *',
  '0 9 L * *',
  '5-10/2 * * * *',
  '*/10 0 * * * *',
  '7 * * * * *',
  '0 0 9 * * * 2030',
])('%j is left as it is', (expression) => {
  expect(wordsOf(expression)).toBeNull();
});
