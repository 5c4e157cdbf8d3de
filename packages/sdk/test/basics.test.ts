import { describe, expect, it } from 'vitest';
import { milliseconds, wholeSeconds, type Duration } from '../src/duration.js';
import { configOf, mergePolicies } from '../src/policy.js';
import { stepPayload } from '../src/references.js';
import { uuid7 } from '../src/http/uuid7.js';

describe('durations', () => {
  it('count milliseconds by unit', () => {
    expect((['250ms', '1.5s', '2m', '1h', '1d'] as const).map(milliseconds)).toEqual([
      250, 1500, 120e3, 3600e3, 86400e3,
    ]);
  });
  it('round up to whole seconds for the service', () => {
    expect((['1ms', '1000ms', '1001ms', '0s'] as const).map(wholeSeconds)).toEqual([1, 1, 2, 0]);
  });
  it('refuse what is not one, also where the compiler did not look', () => {
    for (const text of ['30', '', 's', '-1s', '1e3s', '1 s', '1w', 'NaNs', 'Infinitys'] as Duration[]) {
      expect(() => milliseconds(text), text).toThrow(TypeError);
    }
  });
});

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
    expect(configOf({ queue: 'x', priority: 3, retries, timeout: '90s' })).toEqual({
      priority: 3,
      max_retries: 2,
      timeout_secs: 90,
      retry_backoff: 'linear',
      retry_delay_secs: 2,
      retry_max_delay_secs: 60,
      jitter_factor: 0,
    });
    expect(configOf({})).toEqual({});
  });
});

describe('the payload of a step', () => {
  const _context = { reserve: { shelf: 7, at: { hall: 'B' } }, shelf: 7 };
  it('has its references resolved, at any depth, and no context', () => {
    const payload = {
      shelf: { $step: 'reserve', path: ['shelf'] },
      deep: [{ hall: { $step: 'reserve', path: ['at', 'hall'] } }],
      whole: { $step: 'reserve' },
      plain: 1,
      _context,
    };
    expect(stepPayload(payload)).toEqual({ shelf: 7, deep: [{ hall: 'B' }], whole: _context.reserve, plain: 1 });
  });
  it('leaves out a field whose reference leads nowhere, and keeps places in lists', () => {
    const payload = {
      a: { $step: 'advert', path: ['text'] },
      b: { $step: 'reserve', path: ['shelf', 'toString'] },
      c: { $step: 'constructor' },
      d: [1, { $step: 'advert' }, 3],
      _context,
    };
    expect(stepPayload(payload)).toEqual({ d: [1, null, 3] });
  });
  it('touches nothing that only looks like a reference', () => {
    const fields = { a: { $step: 7 }, b: { $step: 'x', more: 1 }, c: { $step: 'x', path: 'y' }, d: { path: ['a'] } };
    expect(stepPayload({ ...fields })).toEqual(fields);
  });
});

describe('keys', () => {
  it('are UUIDs of version 7 that never go back in time', () => {
    const keys = [uuid7(2_000_000_000_000), uuid7(1_000_000_000_000), uuid7()];
    for (const key of keys)
      expect(key).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(keys[1]!.slice(0, 13)).toBe(keys[0]!.slice(0, 13));
  });
});
