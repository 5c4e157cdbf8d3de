import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

const SOURCES = new URL('../src/', import.meta.url);

it('every variable that the SDK reads is in docs/production.md', () => {
  const files = readdirSync(SOURCES, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));
  const texts = files.map((name) => readFileSync(new URL(name, SOURCES), 'utf8'));
  const read = texts.flatMap((text) => [...text.matchAll(/(?:variable\('|process\.env\.)([A-Z_]+)/g)]);
  const names = [...new Set(read.map(([, name]) => name!))].sort();
  expect(names).toContain('MILLRACE_WORKER_TOKEN');
  const page = readFileSync(new URL('../../../docs/production.md', import.meta.url), 'utf8');
  const documented = [...page.matchAll(/^\| `([A-Z_]+)` \|/gm)].map(([, name]) => name!);
  expect(documented.sort()).toEqual(names);
});
