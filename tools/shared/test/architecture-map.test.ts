import { expect, it } from 'vitest';
import { readMap } from '../src/architecture-map.js';
import { brokenSource } from '../src/broken-export.js';

it('reads the rows of tables that name files', () => {
  const document = [
    '# Layers\n\n| layer | holds |\n|---|---|\n| `a/b.ts` | x |\n',
    '## Where\n\n| what | file | statement | test |\n|---|---|---|---|',
    '| one happens | `a/one.ts` (`One`, `two`), by `packages/sdk/src/x.ts` | `s` in `sql/q.sql` | `a/one`, `b` |\n',
    '### In the SDK\n\nPaths are in `packages/sdk/src`, tests in `packages/sdk/test`.\n',
    '| what | file | test |\n|---|---|---|\n| two | `y.ts` (`y` for z) | `y` |',
  ].join('\n');
  expect(readMap(document)).toEqual([
    {
      what: 'one happens',
      places: [
        { file: 'packages/server/src/a/one.ts', name: 'One' },
        { file: 'packages/server/src/a/one.ts', name: 'two' },
        { file: 'packages/sdk/src/x.ts', name: null },
      ],
      tests: ['packages/server/test/a/one', 'packages/server/test/b'],
    },
    { what: 'two', places: [{ file: 'packages/sdk/src/y.ts', name: 'y' }], tests: ['packages/sdk/test/y'] },
  ]);
});

it.each([
  ['export function f(a = {}): void { g(a); }', `export function f(a = {}): void { T g(a); }`],
  ['export const f = async (a) => ({ a });', `export const f = async (a) => { T };`],
  [
    'export class f { x = 1; y = () => 2; constructor() {} get z() { return 3; } async #p() {} }',
    'export class f { x = 1; y = () => { T }; constructor() {} get z() { T return 3; } async #p() { T} }',
  ],
  ['export const f = 500;\nexport function other() {}', null],
  ['export interface f { x(): void }', null],
])('breaks %s', (source, expected) => {
  expect(brokenSource(source, 'f')?.replaceAll(/throw new Error\('broken by npm run map'\);/g, 'T') ?? null).toBe(
    expected,
  );
});
