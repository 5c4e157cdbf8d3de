import { describe, expect, it } from 'vitest';
import { UsageError } from '@millrace/tools-shared';
import { readArguments, USAGE } from '../src/arguments.js';
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
  it('is a table that marks the rows that were not run', () => {
    const table = asMarkdown([held, missing]);
    expect(table).toContain('| 5 | a crash | 1,000 crashes | 12,345 | 0 | 1.3 |');
    expect(table).toContain('| 12 | a pooler | not run |');
    expect(asText([held]).split('\n')).toHaveLength(2);
    expect(remarks([held, missing, broken])).toEqual(
      expect.arrayContaining(['row 5: as expected', 'row 12 was not run: no pgbouncer here', 'row 1: job x is gone']),
    );
  });
});

describe('the arguments', () => {
  it('are read, and a seed is drawn if none is given', () => {
    const args = readArguments(['--seed', '7', '--only', '1,16', '--scale', '0.1']);
    expect(args).toMatchObject({ seed: 7, only: [1, 16], scale: 0.1, publish: false, mutants: false });
    expect(readArguments([]).seed).toBeGreaterThanOrEqual(0);
  });

  it.each([['--seed', 'x'], ['--only', '1,,2'], ['--scale', '0'], ['--what']])('refuse %s %s', (...argv) => {
    expect(() => readArguments(argv)).toThrow(UsageError);
  });

  it('answer --help with the usage, which is no mistake', () => {
    expect(() => readArguments(['--help'])).toThrow(expect.objectContaining({ message: USAGE, exitCode: 0 }));
  });
});
