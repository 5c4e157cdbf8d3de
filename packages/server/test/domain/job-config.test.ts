import { DEFAULT_JOB_CONFIG, JOB_CONFIG_LIMITS, RETRY_BACKOFFS, type PartialJobConfig } from '@millrace/contract';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { resolveJobConfig } from '../../src/domain/job-config.js';

const within = ({ minimum, maximum }: { minimum: number; maximum: number }): fc.Arbitrary<number> =>
  fc.integer({ min: minimum, max: maximum });

const maybe = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | null> => fc.option(value, { nil: null });

const partial = fc.record(
  {
    priority: maybe(within(JOB_CONFIG_LIMITS.priority)),
    max_retries: maybe(within(JOB_CONFIG_LIMITS.max_retries)),
    timeout_secs: maybe(within(JOB_CONFIG_LIMITS.timeout_secs)),
    retry_backoff: maybe(fc.constantFrom(...RETRY_BACKOFFS)),
    retry_delay_secs: maybe(within(JOB_CONFIG_LIMITS.retry_delay_secs)),
    retry_max_delay_secs: maybe(within(JOB_CONFIG_LIMITS.retry_max_delay_secs)),
    jitter_factor: maybe(fc.double({ min: 0, max: 1, noNaN: true })),
  },
  { requiredKeys: [] },
);

describe('a job configuration', () => {
  it('keeps what was given and fills in the rest', () => {
    fc.assert(
      fc.property(partial, (given) => {
        const stated = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== null));
        const expected = { ...DEFAULT_JOB_CONFIG, ...stated };
        const resolved = resolveJobConfig(given) ?? DEFAULT_JOB_CONFIG;
        expect(JSON.stringify(resolved)).toBe(
          JSON.stringify({ ...expected, jitter_factor: expected.jitter_factor + 0 }),
        );
      }),
    );
  });

  it('is null if nothing differs from the defaults', () => {
    for (const given of [undefined, null, {}, { ...DEFAULT_JOB_CONFIG }, { timeout: 300 }, { priority: null }]) {
      expect(resolveJobConfig(given)).toBeNull();
    }
  });

  it('resolves to itself when it is resolved again', () => {
    fc.assert(
      fc.property(partial, (given) => {
        const resolved = resolveJobConfig(given);
        expect(resolveJobConfig(resolved)).toEqual(resolved);
      }),
    );
  });

  it.each<[PartialJobConfig, number]>([
    [{ timeout: 7 }, 7],
    [{ timeout_secs: 7 }, 7],
    [{ timeout: 7, timeout_secs: 7 }, 7],
    [{ timeout: 7, timeout_secs: null }, 7],
    [{ timeout: null, timeout_secs: 7 }, 7],
  ])('%j is a timeout of %i', (given, seconds) => {
    expect(resolveJobConfig(given)).toEqual({ ...DEFAULT_JOB_CONFIG, timeout_secs: seconds });
  });

  it('refuses two different timeouts, under the given path', () => {
    expect(() => resolveJobConfig({ timeout: 7, timeout_secs: 8 }, 'jobs[2].config')).toThrow(
      expect.objectContaining({
        code: 'invalid_request',
        details: [{ path: 'jobs[2].config.timeout_secs', message: expect.any(String) }],
      }),
    );
  });
});
