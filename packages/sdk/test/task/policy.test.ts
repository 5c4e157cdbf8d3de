import { describe, expect, it } from 'vitest';
import { configOf, mergePolicies } from '../../src/task/policy.js';

describe('policies', () => {
  it('merge field by field, the later one winning', () => {
    const merged = mergePolicies(
      { queue: 'a', retries: { max: 5, delay: '10s' }, timeout: '1m' },
      { queue: 'b', retries: { max: 1 } },
    );
    expect(merged).toEqual({ queue: 'b', retries: { max: 1, delay: '10s' }, timeout: '1m' });
  });
  it('speak the words of the service', () => {
    const retries = { max: 2, backoff: 'linear', delay: '1500ms', maxDelay: '1m', jitter: 0 } as const;
    expect(configOf({ queue: 'x', priority: 3, retries, timeout: '90s' }, {})).toEqual({
      priority: 3,
      max_retries: 2,
      timeout_secs: 90,
      retry_backoff: 'linear',
      retry_delay_secs: 2,
      retry_max_delay_secs: 60,
      jitter_factor: 0,
    });
    expect(configOf({}, {})).toEqual({});
  });
  it('expire after some time, or at an instant', () => {
    expect(configOf({ expires: '90s' }, {})).toEqual({ expires_secs: 90 });
    expect(configOf({ expires: new Date('2030-01-01T00:00:00Z') }, {})).toEqual({
      expires_at: '2030-01-01T00:00:00.000Z',
    });
  });
  it('make the key of a unique job of the input', () => {
    const unique = {
      key: ({ site }: { site: number }) => `rebuild-${site}`,
      ...{ while: 'waiting' as const, onConflict: 'replace' as const, maxWait: '5m' as const },
    };
    expect(configOf({ unique }, { site: 7 })).toEqual({
      unique: { key: 'rebuild-7', while: 'waiting', on_conflict: 'replace', max_wait_secs: 300 },
    });
  });
  it('make the key of a limit of the input', () => {
    const limits = [
      { key: ({ user }: { user: number }) => `user-${user}`, running: 2 },
      { key: 'stripe', running: 10 },
    ];
    expect(configOf({ limits }, { user: 7 })).toEqual({
      limits: [
        { key: 'user-7', running: 2 },
        { key: 'stripe', running: 10 },
      ],
    });
    expect(() => configOf({ limits }, null)).toThrow('must be a text here');
    expect(configOf({ limits: limits.slice(1) }, null)).toEqual({ limits: [{ key: 'stripe', running: 10 }] });
  });
});
