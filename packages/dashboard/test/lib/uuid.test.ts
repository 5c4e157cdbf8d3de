import { expect, it, vi } from 'vitest';
import { newUuid } from '../../src/lib/uuid.js';

it('makes random UUIDs without crypto.randomUUID, which plain HTTP does not have', () => {
  vi.stubGlobal('crypto', { getRandomValues: globalThis.crypto.getRandomValues.bind(globalThis.crypto) });
  try {
    const made = Array.from({ length: 100 }, newUuid);
    expect(new Set(made).size).toBe(100);
    for (const uuid of made) expect(uuid).toMatch(/^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/);
  } finally {
    vi.unstubAllGlobals();
  }
});
