import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ROOT } from '../src/env/machine.js';

/** What documents show was measured by a version that is not long gone. */
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

const minorOf = (version: string): number => {
  const [, major, minor] = /^(\d+)\.(\d+)\.\d+/.exec(version) ?? [];
  return Number(major) * 1_000 + Number(minor);
};

const current = (): number => minorOf(/^## \[(\d+\.\d+\.\d+)\]/m.exec(read('CHANGELOG.md'))?.[1] ?? '');

it.each(['latest', 'calls', 'growth'])(
  'the results of the benchmark (%s) are of this or the last minor version',
  (name) => {
    const { machine } = JSON.parse(read(`tools/bench/results/${name}.json`)) as { machine: { millrace: string } };
    const behind = current() - minorOf(machine.millrace);
    expect(behind).toBeGreaterThanOrEqual(0);
    expect(behind).toBeLessThanOrEqual(1);
  },
);
