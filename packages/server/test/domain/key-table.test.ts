import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { KeyTable } from '../../src/domain/key-table.js';
import { cases } from '../support/cases.js';

describe('KeyTable', () => {
  it('numbers keys as a map of strings would, wherever they stand', () => {
    const keys = fc.array(fc.oneof(fc.string({ maxLength: 3 }), fc.string({ unit: 'binary' })), { maxLength: 200 });
    fc.assert(
      fc.property(keys, fc.string(), (given, before) => {
        const table = new KeyTable();
        const numbers = new Map<string, number>();
        for (const key of given) {
          const [text, start, end] = [`${before}${key}"`, before.length, before.length + key.length];
          expect(table.has(text, start, end)).toBe(numbers.has(key));
          if (!numbers.has(key)) numbers.set(key, numbers.size);
          expect(table.numberOf(text, start, end)).toBe(numbers.get(key));
        }
      }),
      { numRuns: cases(200) },
    );
  });
});
