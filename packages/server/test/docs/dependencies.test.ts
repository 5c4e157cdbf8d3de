import { existsSync, readdirSync } from 'node:fs';
import { expect, it } from 'vitest';
import { readRepositoryFile, repositoryFile } from './generated.js';

interface Manifest {
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

function runtimeDependencies(): string[] {
  const manifests = readdirSync(repositoryFile('packages')).map((name) => `packages/${name}/package.json`);
  const names = manifests
    .filter((path) => existsSync(repositoryFile(path)))
    .flatMap((path) => {
      const { dependencies, optionalDependencies } = JSON.parse(readRepositoryFile(path)) as Manifest;
      return Object.keys({ ...dependencies, ...optionalDependencies });
    });
  return [...new Set(names)].filter((name) => name !== 'millrace' && !name.startsWith('@millrace/')).sort();
}

it('docs/architecture.md gives a reason for every runtime dependency, and for nothing else', () => {
  const [, section = ''] = /^## Dependencies\n([^]*)/m.exec(readRepositoryFile('docs/architecture.md')) ?? [];
  const explained = [...section.matchAll(/^\| `([^`]+)` \| \S/gm)].map(([, name]) => name);
  expect(explained.sort()).toEqual(runtimeDependencies());
});
