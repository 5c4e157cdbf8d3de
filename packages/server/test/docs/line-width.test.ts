import { readdirSync } from 'node:fs';
import { extname, join } from 'node:path';
import { expect, it } from 'vitest';
import { readRepositoryFile, repositoryFile } from './generated.js';

/** Prettier wraps code, but neither comments nor SQL. */
const MAX_COLUMNS = 120;
const EXTENSIONS = new Set(['.ts', '.mjs', '.cjs', '.sql', '.py', '.sh']);

/** Released migrations never change, and the schema is printed from them. */
const EXEMPT = [/^packages\/server\/sql\/migrations\/000[123]_/, /^packages\/server\/sql\/schema\.sql$/];

const isSkipped = (name: string): boolean =>
  name.startsWith('.') || ['node_modules', 'dist', 'cjs', 'coverage'].includes(name);

function filesIn(directory: string): string[] {
  return readdirSync(repositoryFile(directory), { withFileTypes: true }).flatMap((entry) => {
    const path = join(directory, entry.name);
    if (isSkipped(entry.name)) return [];
    return entry.isDirectory() ? filesIn(path) : [path];
  });
}

/** All of it in a file of SQL; elsewhere what begins as a comment does. */
const isChecked = (path: string, line: string): boolean => path.endsWith('.sql') || /^\s*(\*|\/\*|\/\/|#)/.test(line);

function longLines(path: string): string[] {
  const lines = readRepositoryFile(path).split('\n');
  const isLong = (line: string): boolean => [...line].length > MAX_COLUMNS && isChecked(path, line);
  return lines.flatMap((line, index) => (isLong(line) ? [`${path}:${index + 1}`] : []));
}

it(`keeps comments and SQL within ${MAX_COLUMNS} columns`, () => {
  const files = filesIn('.').filter((path) => EXTENSIONS.has(extname(path)));
  const checked = files.filter((path) => !EXEMPT.some((pattern) => pattern.test(path)));
  expect(checked.length).toBeGreaterThan(100);
  expect(checked.flatMap(longLines)).toEqual([]);
});
