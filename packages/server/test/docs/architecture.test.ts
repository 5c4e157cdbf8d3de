import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const ROOT = fileURLToPath(new URL('../../../../', import.meta.url));
const SERVER = 'packages/server/src';
const FILE = /^[\w-]+(\/[\w-]+)*\.(tsx?|sql)$/;

/** Files that docs/architecture.md names: in a section as it says, elsewhere in the server. */
function namedFiles(): string[] {
  const sections = readFileSync(`${ROOT}docs/architecture.md`, 'utf8').split(/^#+ /m);
  return sections.flatMap((section) => {
    const folder = /^Paths are in `([^`]+)`\.$/m.exec(section)?.[1] ?? SERVER;
    const names = [...section.matchAll(/`([^`\n]+)`/g)].map(([, name = '']) => name);
    return names.filter((name) => FILE.test(name) && name.includes('/')).map((name) => pathOf(folder, name));
  });
}

function pathOf(folder: string, name: string): string {
  if (/^(packages|tools)\//.test(name)) return name;
  return name.startsWith('sql/') ? `packages/server/${name}` : `${folder}/${name}`;
}

it('names files that exist', () => {
  const files = namedFiles();
  expect(files.length).toBeGreaterThan(80);
  expect(files.filter((file) => !existsSync(ROOT + file))).toEqual([]);
});
