import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { copyBuild } from '../src/build-copy.js';
import { FAULTS } from '../src/faults/index.js';
import { MUTANTS } from '../src/mutants/list.js';

const dir = mkdtempSync(join(tmpdir(), 'millrace-mutant-test-'));
afterEach(() => rmSync(dir, { recursive: true, force: true }));

describe('the mutants', () => {
  it.each(MUTANTS.map((mutant) => [mutant.name, mutant] as const))('%s: the patches apply', (_name, { patches }) => {
    const millrace = copyBuild(dir, patches);
    expect(readFileSync(millrace, 'utf8')).toContain('main.js');
  });

  it('name rows that exist', () => {
    const rows = FAULTS.map(({ row }) => row);
    for (const mutant of MUTANTS) expect(rows).toEqual(expect.arrayContaining([...mutant.rows]));
  });

  it('refuse a patch that changes nothing', () => {
    const patch = { file: 'server/sql/queries/settle.sql', find: /no such text/, replace: '' };
    expect(() => copyBuild(dir, [patch])).toThrow('does not apply to packages/server/sql/queries/settle.sql');
  });
});

describe('the table of faults', () => {
  it('has each row once, with a smaller count for every day', () => {
    const rows = FAULTS.map(({ row }) => row);
    expect(new Set(rows).size).toBe(rows.length);
    for (const { row, everyday, full } of FAULTS) {
      expect({ row, fits: everyday > 0 && everyday <= full }).toEqual({ row, fits: true });
    }
  });
});
