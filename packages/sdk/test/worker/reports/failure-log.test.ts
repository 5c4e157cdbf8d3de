import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { JsonObject, Logger, RunningJob } from '../../../src/index.js';
import { FailureLog } from '../../../src/worker/reports/failure-log.js';

/** What a worker says of jobs that fail: never more than somebody could read. */
interface Line {
  readonly level: keyof Logger;
  readonly message: string;
  readonly fields: JsonObject | undefined;
}

const RULE = { max_retries: 3, retry_backoff: 'exponential', retry_delay_secs: 10, retry_max_delay_secs: 25 } as const;
const jobAt = (retryCount: number): RunningJob =>
  ({ id: 'j1', task: 'resize', retryCount, attempt: retryCount + 1 }) as RunningJob;

function logOf(): { readonly log: FailureLog; readonly lines: Line[] } {
  const lines: Line[] = [];
  const at =
    (level: keyof Logger) =>
    (message: string, fields?: JsonObject): void =>
      void lines.push({ level, message, fields });
  return { log: new FailureLog({ debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }), lines };
}

const failed = (fields: object = {}) => ({ kind: 'failed', error: 'no\nmore', retryable: true, ...fields }) as const;

beforeEach(() => void vi.useFakeTimers({ toFake: ['hrtime'] }));
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllEnvs();
});

describe('a failed attempt', () => {
  it.each([
    [0, {}, 'warn', 'attempt 1 of 4 of the job j1, next try in about 10 s: no'],
    [2, {}, 'warn', 'attempt 3 of 4 of the job j1, next try in about 25 s: no'],
    [0, { retryAfterSecs: 7 }, 'warn', 'attempt 1 of 4 of the job j1, next try in 7 s: no'],
    [3, {}, 'error', 'attempt 4 of 4 of the job j1, its last: no'],
    [0, { retryable: false }, 'error', 'attempt 1 of 4 of the job j1, for good: no'],
  ] as const)('after %i retries, %j, is told at %s', (retries, fields, level, rest) => {
    const { log, lines } = logOf();
    log.write(jobAt(retries), failed(fields), RULE);
    expect(lines).toMatchObject([{ level, message: `resize failed: ${rest}` }]);
  });

  it('shows its stack, which in production is for those who look closely', () => {
    const withStack = failed({ details: { name: 'Error', stack: 'Error: no\n  at x' } }) as never;
    const { log, lines } = logOf();
    vi.stubEnv('NODE_ENV', 'development');
    log.write(jobAt(0), withStack, RULE);
    expect(lines).toMatchObject([{ level: 'warn', fields: { job: 'j1', stack: 'Error: no\n  at x' } }]);
    vi.stubEnv('NODE_ENV', 'production');
    log.write(jobAt(0), withStack, RULE);
    expect(lines[1]!.fields).not.toHaveProperty('stack');
    expect(lines[2]).toMatchObject({ level: 'debug', fields: { stack: 'Error: no\n  at x' } });
  });
});

it('many failed attempts are told up to a rate, and counted beyond it', () => {
  const { log, lines } = logOf();
  for (let n = 0; n < 1_000; n++) log.write(jobAt(0), failed(), RULE);
  expect(lines).toHaveLength(50);
  vi.advanceTimersByTime(1_000);
  for (let n = 0; n < 1_000; n++) log.write(jobAt(0), failed(), RULE);
  expect(lines[50]).toMatchObject({ level: 'warn', message: '950 more failures were not logged' });
  expect(lines).toHaveLength(50 + 1 + 5);
});
