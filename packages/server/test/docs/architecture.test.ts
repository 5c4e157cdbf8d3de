import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { readMap } from '@millrace/tools-shared';
import { expect, it } from 'vitest';

const ROOT = fileURLToPath(new URL('../../../../', import.meta.url));
const SERVER = 'packages/server/src';
const FILE = /^[\w-]+(\/[\w-]+)*\.(tsx?|sql)$/;

/** The sections of docs/architecture.md, each with the folder of its paths: the server, unless it says otherwise. */
function sections(): { readonly text: string; readonly folder: string }[] {
  const texts = readFileSync(`${ROOT}docs/architecture.md`, 'utf8').split(/^#+ /m);
  return texts.map((text) => ({ text, folder: /^Paths are in `([^`]+)`/m.exec(text)?.[1] ?? SERVER }));
}

function pathOf(folder: string, name: string): string {
  if (/^(packages|tools)\//.test(name)) return name;
  return name.startsWith('sql/') ? `packages/server/${name}` : `${folder}/${name}`;
}

const rows = readMap(readFileSync(`${ROOT}docs/architecture.md`, 'utf8'));
const read = (file: string): string => (existsSync(ROOT + file) ? readFileSync(ROOT + file, 'utf8') : '');

it('names files that exist', () => {
  const files = sections().flatMap(({ text, folder }) => {
    const names = [...text.matchAll(/`([^`\n]+)`/g)].map(([, name = '']) => name);
    return names.filter((name) => FILE.test(name) && name.includes('/')).map((name) => pathOf(folder, name));
  });
  expect(files.length).toBeGreaterThan(120);
  expect(files.filter((file) => !existsSync(ROOT + file))).toEqual([]);
});

/** `` `file.ts` (`Name`) `` promises that the file exports the name. */
it('names what the files export', () => {
  const promised = rows.flatMap(({ places }) => places.filter(({ name }) => name !== null));
  expect(promised.length).toBeGreaterThan(300);
  const isDeclared = ({ file, name }: (typeof promised)[number]): boolean =>
    new RegExp(`^export (default )?(async )?(function\\*?|class|const|interface|type) ${name}\\b`, 'm').test(
      read(file),
    );
  expect(promised.filter((place) => !isDeclared(place))).toEqual([]);
});

/** Of the dashboard, only some rows have tests of their own: most are tested by its pages. */
it('names the tests of its rows', () => {
  const ends = ['', '.alone', '.full', '.full-alone'].map((end) => `${end}.test.ts`);
  const tested = rows.filter(({ places: [first] }) => !first?.file.startsWith('packages/dashboard/'));
  expect(tested.length).toBeGreaterThan(200);
  expect(tested.filter(({ tests }) => tests.length === 0).map(({ what }) => what)).toEqual([]);
  const named = tested.flatMap(({ tests }) => tests);
  expect(named.filter((test) => !ends.some((end) => existsSync(ROOT + test + end)))).toEqual([]);
});

/** `` `one`, `two` in `sql/….sql` `` promises that the file holds both statements. */
it('names statements that are in their files', () => {
  const promised = sections().flatMap(({ text }) =>
    [...text.matchAll(/((?:`\w+`(?:, )?)+)[^`|]* in `(sql\/[\w/-]+\.sql)`/g)].flatMap(([, names = '', file = '']) =>
      [...names.matchAll(/`(\w+)`/g)].map(([, name = '']) => [pathOf(SERVER, file), name]),
    ),
  );
  expect(promised.length).toBeGreaterThan(15);
  expect(promised.filter(([file = '', name = '']) => !read(file).includes(`-- name: ${name}\n`))).toEqual([]);
});

/** Where the other documents for developers begin their paths. */
const FOLDERS = [
  ...['', 'packages/server/', `${SERVER}/`, 'packages/server/sql/', 'packages/server/sql/queries/'],
  ...['packages/cli/src/', 'packages/sdk/src/', 'packages/dashboard/src/', 'clients/python/src/millrace/'],
];
const NAMED = /`([\w-]+(?:\/[\w.-]+)+\.(?:tsx?|mjs|cjs|sql|py))`/g;

it('other documents for developers name files that exist', () => {
  const records = readdirSync(`${ROOT}docs/adr`).map((name) => `docs/adr/${name}`);
  const named = ['docs/security.md', 'CONTRIBUTING.md', ...records].flatMap((document) =>
    [...read(document).matchAll(NAMED)].map(([, name = '']) => ({ document, name })),
  );
  expect(named.length).toBeGreaterThan(150);
  const isMissing = ({ name }: { readonly name: string }): boolean =>
    !FOLDERS.some((folder) => existsSync(ROOT + folder + name));
  expect(named.filter(isMissing)).toEqual([]);
});
