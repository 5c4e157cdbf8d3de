import { describe, expect, it } from 'vitest';
import { uuid7 } from '../../src/shared/uuid7.js';

describe('keys', () => {
  it('are UUIDs of version 7 that never go back in time', () => {
    const keys = [uuid7(2_000_000_000_000), uuid7(1_000_000_000_000), uuid7()];
    for (const key of keys)
      expect(key).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(keys[1]!.slice(0, 13)).toBe(keys[0]!.slice(0, 13));
  });
});
