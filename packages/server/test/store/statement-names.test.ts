import { expect, it } from 'vitest';
import { statements } from './statements.js';

/** A connection knows a prepared statement by its name alone: two of one name would take each other's place. */
it('every statement has a name of its own', () => {
  const names = statements().map(({ name }) => name);
  expect(names.filter((name, n) => names.indexOf(name) !== n)).toEqual([]);
});
