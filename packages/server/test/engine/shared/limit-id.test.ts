import { expect, it } from 'vitest';
import { limitId } from '../../../src/engine/shared/limit-id.js';

it('gives each key of each queue and tenant an id of its own', () => {
  const ids = [
    ['t', 'q', 'k'],
    ['t', 'qk', ''],
    ['tq', '', 'k'],
    ['t', '1:q', 'k'],
    ['', 't', 'qk'],
  ].map(([tenant, queue, name]) => limitId(tenant!, queue!, name!));
  expect(new Set(ids).size).toBe(ids.length);
  expect(limitId('t', 'q', 'k')).toBe(ids[0]);
});
