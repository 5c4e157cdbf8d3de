import { describe, expect, it } from 'vitest';
import { readArguments } from '../src/arguments.js';
import { withOutcome } from '../src/publish.js';
import { asMarkdown, asText, remarks } from '../src/report.js';

const held = {
  row: 5,
  name: 'a crash',
  unit: 'crashes',
  count: 1_000,
  jobs: 12_345,
  seconds: 1.26,
  violations: [],
  notes: ['as expected'],
  notRun: null,
};
const missing = { ...held, row: 12, name: 'a pooler', notes: [], notRun: 'no pgbouncer here' };
const broken = { ...held, row: 1, violations: ['job x is gone'] };

describe('the report', () => {
  it('is a table, with what was not run marked', () => {
    const table = asMarkdown([held, missing]);
    expect(table).toContain('| 5 | a crash | 1,000 crashes | 12,345 | 0 | 1.3 |');
    expect(table).toContain('| 12 | a pooler | not run |');
    expect(asText([held]).split('\n')).toHaveLength(2);
    expect(remarks([held, missing, broken])).toEqual(
      expect.arrayContaining(['row 5: as expected', 'row 12 was not run: no pgbouncer here', 'row 1: job x is gone']),
    );
  });

  it('goes between its marks, and nowhere else', () => {
    const page = 'a\n<!-- outcome -->\nold\n<!-- end of outcome -->\nb';
    expect(withOutcome(page, 'new')).toBe('a\n<!-- outcome -->\nnew\n<!-- end of outcome -->\nb');
    expect(() => withOutcome('no marks', 'new')).toThrow('docs/reliability.md');
  });
});

describe('the arguments', () => {
  it('are read, with a seed of its own where none is given', () => {
    const args = readArguments(['--seed', '7', '--only', '1,16', '--scale', '0.1']);
    expect(args).toMatchObject({ seed: 7, only: [1, 16], scale: 0.1, publish: false, mutants: false });
    expect(readArguments([]).seed).toBeGreaterThanOrEqual(0);
  });

  it.each([['--seed', 'x'], ['--only', '1,,2'], ['--what']])('refuse %s %s', (...argv) => {
    expect(() => readArguments(argv)).toThrow();
  });
});
