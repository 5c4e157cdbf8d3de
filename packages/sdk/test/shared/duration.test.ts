import { describe, expect, it } from 'vitest';
import { milliseconds, wholeSeconds, type Duration } from '../../src/shared/duration.js';

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
