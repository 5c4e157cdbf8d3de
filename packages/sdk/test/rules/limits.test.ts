import * as contract from '@millrace/contract';
import { expect, it } from 'vitest';
import * as limits from '../../src/rules/limits.js';

it('declares the limits of the contract', () => {
  const known: Record<string, unknown> = { ...contract };
  for (const [name, limit] of Object.entries(limits)) expect({ [name]: known[name] }).toEqual({ [name]: limit });
});
