import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { copyBuild, patched } from '../src/build-copy.js';
import { FAULTS } from '../src/faults/index.js';
import { MUTANTS } from '../src/mutants/list.js';
import type { Mutant } from '../src/mutants/mutant.js';

const dir = mkdtempSync(join(tmpdir(), 'millrace-mutant-test-'));
afterEach(() => rmSync(dir, { recursive: true, force: true }));

describe('the mutants', () => {
  it.each(MUTANTS.map((mutant) => [mutant.name, mutant] as const))('%s: the patches apply', (_name, { patches }) => {
    expect(patched(patches).size).toBeGreaterThan(0);
  });

  it('are copies of the build with the patches in them', () => {
    const [{ patches }] = MUTANTS as readonly [Mutant];
    const millrace = copyBuild(dir, patches);
    expect(readFileSync(millrace, 'utf8')).toContain('main.js');
    for (const [file, text] of patched(patches)) expect(readFileSync(join(dir, 'packages', file), 'utf8')).toBe(text);
  });

  it('name existing rows', () => {
    const rows = FAULTS.map(({ row }) => row);
    for (const mutant of MUTANTS) expect(rows).toEqual(expect.arrayContaining([...mutant.rows]));
  });

  it('are numbered in the documentation as --only takes them', () => {
    const page = readFileSync(new URL('../../../docs/reliability.md', import.meta.url), 'utf8');
    const [, table = ''] = /^### Mutants$([^]*?)^## /m.exec(page) ?? [];
    const told = [...table.matchAll(/^\| (\d+) \| .+ \| ([\d, ]+) \|$/gm)].map(([, number, rows]) => [number, rows]);
    expect(told).toEqual(MUTANTS.map(({ rows }, index) => [String(index + 1), rows.join(', ')]));
  });

  it('refuse a patch that changes nothing', () => {
    const patch = { file: 'server/sql/queries/outcomes/settle.sql', find: /no such text/, replace: '' };
    expect(() => patched([patch])).toThrow('does not apply to packages/server/sql/queries/outcomes/settle.sql');
  });
});

describe('the table of faults', () => {
  it('is what the directory holds: one file per row, named by its number, and the index', () => {
    const files = readdirSync(new URL('../src/faults', import.meta.url)).filter((file) => file !== 'index.ts');
    expect(files.filter((file) => !/^\d\d-[a-z-]+\.ts$/.test(file))).toEqual([]);
    expect(files.map((file) => Number(file.slice(0, 2)))).toEqual(FAULTS.map(({ row }) => row).sort((a, b) => a - b));
  });

  it('has each row once, with an everyday count no larger than the full one', () => {
    const rows = FAULTS.map(({ row }) => row);
    expect(new Set(rows).size).toBe(rows.length);
    for (const { row, everyday, full } of FAULTS) {
      expect({ row, fits: everyday > 0 && everyday <= full }).toEqual({ row, fits: true });
    }
  });
});
