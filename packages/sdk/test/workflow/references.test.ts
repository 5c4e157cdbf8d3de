import { describe, expect, it } from 'vitest';
import { stepPayload } from '../../src/workflow/references.js';

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
