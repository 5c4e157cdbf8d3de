import { describe, expect, it } from 'vitest';
import { readFlags, runMain, UsageError, wholeNumber } from '../src/command-line.js';

const FLAGS = { seed: { type: 'string' }, json: { type: 'boolean', default: false } } as const;

describe('the command line of a tool', () => {
  it('is read by its flags', () => {
    expect({ ...readFlags(['--seed', '7'], FLAGS) }).toEqual({ seed: '7', json: false });
  });

  it.each([['--what'], ['--seed'], ['stray']])('refuses %s as a usage error', (...argv) => {
    expect(() => readFlags(argv, FLAGS)).toThrow(UsageError);
  });

  it.each(['', '-1', '1.5', '1e2', ' 7', '11'])('refuses %j as a whole number up to 10', (text) => {
    expect(() => wholeNumber('count', text, 10)).toThrow('--count must be a whole number from 0 to 10');
  });

  it('takes a whole number within its bounds', () => {
    expect([wholeNumber('count', '0', 10), wholeNumber('count', '10', 10)]).toEqual([0, 10]);
    expect(() => wholeNumber('count', '0', 10, 1)).toThrow('from 1 to 10');
  });

  it('exits with 2 after a usage error, with 0 after a request for help, and throws anything else', async () => {
    const failing = (error: Error) => runMain(() => Promise.reject(error));
    expect(await failing(new UsageError(''))).toBe(2);
    expect(await failing(new UsageError('', 0))).toBe(0);
    await expect(failing(new Error('a bug'))).rejects.toThrow('a bug');
    expect(await runMain(async () => 1)).toBe(1);
  });
});
