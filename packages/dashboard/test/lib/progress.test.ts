import { describe, expect, test } from 'vitest';
import { progressOf } from '../../src/lib/progress.js';

describe('progress as a bar', () => {
  test.each([
    ['{"percent": 40}', { part: 0.4, words: '40 %', hasMore: false }],
    ['{"percent": 12.50, "file": "a"}', { part: 0.125, words: '12.50 %', hasMore: true }],
    ['{"done": 250, "total": 1000}', { part: 0.25, words: '250 of 1000', hasMore: false }],
    ['{"done": 3, "total": 4, "percent": 75}', { part: 0.75, words: '3 of 4', hasMore: false }],
    // The figures are those that were sent, even where they make no sense.
    [
      '{"done": 9007199254740993, "total": 9007199254740993}',
      { part: 1, words: '9007199254740993 of 9007199254740993' },
    ],
    ['{"done": 12, "total": 10}', { part: 1, words: '12 of 10' }],
    ['{"percent": -5}', { part: 0, words: '-5 %' }],
  ])('%s', (text, shown) => {
    expect(progressOf(text)).toMatchObject(shown);
  });

  test.each(['null', '[]', '{}', '{"percent": "40"}', '{"done": 3}', '{"done": 3, "total": 0}', '{"step": "upload"}'])(
    '%s is none',
    (text) => {
      expect(progressOf(text)).toBeNull();
    },
  );
});
