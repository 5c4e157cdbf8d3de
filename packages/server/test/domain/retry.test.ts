import { DEFAULT_JOB_CONFIG, JOB_CONFIG_LIMITS, RETRY_BACKOFFS, type JobConfig } from '@millrace/contract';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { judgeFailure, retryDelaySecs } from '../../src/domain/retry.js';

const { max_retries, retry_delay_secs, retry_max_delay_secs } = JOB_CONFIG_LIMITS;
const between = ({ minimum, maximum }: { readonly minimum: number; readonly maximum: number }) =>
  fc.integer({ min: minimum, max: maximum });

const configs: fc.Arbitrary<JobConfig> = fc.record({
  priority: fc.constant(0),
  timeout_secs: fc.constant(300),
  max_retries: between(max_retries),
  retry_backoff: fc.constantFrom(...RETRY_BACKOFFS),
  retry_delay_secs: between(retry_delay_secs),
  retry_max_delay_secs: between(retry_max_delay_secs),
  jitter_factor: fc.double({ min: 0, max: 1, noNaN: true }),
});
const retries = between(max_retries);
/** Uniform in [0, 1), like the engine's. */
const random = fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true });

const plain = (config: Partial<JobConfig>): JobConfig => ({ ...DEFAULT_JOB_CONFIG, jitter_factor: 0, ...config });
/** In the middle of the range there is no jitter, whatever the factor. */
const unjittered = (config: JobConfig, n: number): number => retryDelaySecs({ ...config, jitter_factor: 0 }, n, 0.5);

describe('the delay before a retry', () => {
  it.each([
    ['fixed', [10, 10, 10, 10]],
    ['linear', [10, 20, 30, 40]],
    ['exponential', [10, 20, 40, 80]],
  ] as const)('%s from 10 seconds', (retry_backoff, delays) => {
    const config = plain({ retry_backoff, retry_delay_secs: 10 });
    expect(delays.map((_, n) => retryDelaySecs(config, n, 0))).toEqual(delays);
  });

  it('is a finite number within the cap and its jitter, for every policy and retry', () => {
    fc.assert(
      fc.property(configs, retries, random, (config, n, r) => {
        const delay = retryDelaySecs(config, n, r);
        expect(Number.isFinite(delay)).toBe(true);
        expect(delay).toBeGreaterThanOrEqual(0);
        expect(delay).toBeLessThanOrEqual(config.retry_max_delay_secs * (1 + config.jitter_factor) * (1 + 1e-9));
      }),
    );
  });

  it('is jittered after the cap, by a factor that covers [1 - f, 1 + f]', () => {
    fc.assert(
      fc.property(configs, retries, random, (config, n, r) => {
        const [middle, f] = [unjittered(config, n), config.jitter_factor];
        const slack = 1e-9 * (1 + middle);
        const delay = retryDelaySecs(config, n, r);
        expect(delay).toBeGreaterThanOrEqual(middle * (1 - f) - slack);
        expect(delay).toBeLessThanOrEqual(middle * (1 + f) + slack);
        expect(Math.abs(retryDelaySecs(config, n, 0) - middle * (1 - f))).toBeLessThanOrEqual(slack);
        expect(Math.abs(retryDelaySecs(config, n, 1) - middle * (1 + f))).toBeLessThanOrEqual(slack);
      }),
    );
  });

  it('never shrinks from one retry to the next, jitter aside', () => {
    fc.assert(
      fc.property(configs, fc.integer({ min: 0, max: 999 }), (config, n) => {
        expect(unjittered(config, n + 1)).toBeGreaterThanOrEqual(unjittered(config, n));
      }),
    );
  });

  it('grows as its name says, up to the cap', () => {
    fc.assert(
      fc.property(configs, fc.integer({ min: 0, max: 40 }), (config, n) => {
        const d = config.retry_delay_secs;
        const grown = { fixed: d, linear: d * (n + 1), exponential: d * 2 ** n }[config.retry_backoff];
        expect(unjittered(config, n)).toBe(Math.min(grown, config.retry_max_delay_secs));
      }),
    );
  });

  it.each([999, 1000, 1023, 1024, 5000])('retry number %i of an exponential backoff waits for the cap', (n) => {
    expect(retryDelaySecs(plain({ retry_delay_secs: 1, retry_max_delay_secs: 3600 }), n, 0)).toBe(3600);
    expect(retryDelaySecs(plain({ retry_delay_secs: 0, retry_max_delay_secs: 3600 }), n, 0)).toBe(0);
    expect(retryDelaySecs(plain({ retry_delay_secs: 60, retry_max_delay_secs: 0 }), n, 0)).toBe(0);
  });
});

describe('a failed attempt', () => {
  it('is retried exactly while budget remains, and never when it is not retryable', () => {
    fc.assert(
      fc.property(configs, retries, fc.boolean(), random, (config, retryCount, retryable, r) => {
        const verdict = judgeFailure({ retryCount, retryable }, config, r);
        if (!retryable) expect(verdict).toEqual({ kind: 'dead', reason: 'non_retryable' });
        else if (retryCount >= config.max_retries)
          expect(verdict).toEqual({ kind: 'dead', reason: 'max_attempts_exceeded' });
        else expect(verdict).toEqual({ kind: 'retry', delaySecs: retryDelaySecs(config, retryCount, r) });
      }),
    );
  });

  it('is the last one after max_retries retries', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 1000 }), (maxRetries) => {
        let attempts = 1;
        for (let retryCount = 0; ; retryCount++, attempts++) {
          if (judgeFailure({ retryCount, retryable: true }, plain({ max_retries: maxRetries }), 0).kind === 'dead')
            break;
        }
        expect(attempts).toBe(maxRetries + 1);
      }),
    );
  });
});
