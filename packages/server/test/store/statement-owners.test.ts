import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { QUERIES, statementFiles } from './statements.js';

const SOURCES = new URL('../../src/', import.meta.url);

interface Loading {
  /** The folder of the engine, or `store`. */
  readonly room: string;
  readonly file: string;
}

const sources = (): { readonly path: string; readonly text: string }[] =>
  readdirSync(SOURCES, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts'))
    .map((path) => ({ path, text: readFileSync(new URL(path, SOURCES), 'utf8') }));

function loadings(): Loading[] {
  return sources().flatMap(({ path, text }) => {
    const [layer = '', room = ''] = path.split('/');
    return [...text.matchAll(/loadStatements\('([^']+)'/g)].map(([, file]) => ({
      room: layer === 'engine' ? room : layer,
      file: file!,
    }));
  });
}

/**
 * An import check cannot see who reads which statements. So each file stands in a folder that is called like its owner,
 * and nobody else loads it.
 */
describe('a file of sql/queries', () => {
  it('is loaded only from the folder of the engine that is called like its own, or from the store', () => {
    const strangers = loadings().filter(({ room, file }) => !file.startsWith(`${room}/`));
    expect(strangers).toEqual([]);
  });

  it('is loaded by somebody', () => {
    const loaded = new Set(loadings().map(({ file }) => file));
    expect(statementFiles().flatMap(({ file }) => (loaded.has(file) ? [] : [file]))).toEqual([]);
  });

  it.each(statementFiles())('$file names its parameters', ({ file }) => {
    expect(readFileSync(new URL(file, QUERIES), 'utf8')).not.toMatch(/\$\d/);
  });
});

it('no source has a statement of its own with a number for a parameter', () => {
  const numbered = sources().filter(({ text }) =>
    /\b(SELECT|INSERT|UPDATE|DELETE|VALUES|WITH)\b[^;\n]*[ (=]\$\d/.test(text),
  );
  expect(numbered.map(({ path }) => path)).toEqual([]);
});
