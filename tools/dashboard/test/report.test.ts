import { expect, it } from 'vitest';
import { holds, took } from '../src/case.js';
import { CASES } from '../src/cases/index.js';
import { parseOptions } from '../src/options.js';
import { asMarkdown } from '../src/report.js';

const NAMES = CASES.map(({ name }) => name);

it('a missed aim is shown as one, in a document that says how much was run', () => {
  const options = parseOptions(['--jobs=5000', '--rounds=2', '--only=pages,bulk'], NAMES);
  expect(options).toMatchObject({ jobs: 5000, rounds: 2, only: ['pages', 'bulk'], publish: false });
  const findings = [took('Jobs', 310.4, 300), took('Queues', 12, 300), holds('Nothing is left', true)];
  const [began, ended] = [new Date('2026-02-03T00:00:00Z'), new Date('2026-02-03T01:14:05Z')];
  const run = { browser: 'Chromium 1', began, ended, loadBefore: 0.25 };
  const text = asMarkdown([{ title: 'Pages', findings }], options, run);
  expect(text).toContain('2026-02-03. ');
  expect(text).toContain('The service held 5,000 jobs. Times are medians of 2, with their range.');
  expect(text).toContain('The run took 74 min 5 s. Before it, the load average was 0.3 on\n');
  expect(text).toContain('| Jobs | 310 ms | below 300 ms | ✗ missed |');
  expect(text).toContain('| Queues | 12 ms | below 300 ms | ✓ |');
  expect(text).toContain('| Nothing is left | yes | yes | ✓ |');
});

it('refuses a case that does not exist, and lists those that do', () => {
  expect(() => parseOptions(['--only=pages,nothing'], NAMES)).toThrow(`there is no case nothing: ${NAMES.join(', ')}`);
  expect(() => parseOptions(['--help'], NAMES)).toThrow('--minutes N');
});
