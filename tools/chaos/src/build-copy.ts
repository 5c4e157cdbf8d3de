import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** One change to the text of a built module or a query. */
export interface Patch {
  /** Relative to packages/. */
  readonly file: string;
  readonly find: RegExp;
  readonly replace: string;
}

/** A file that the copy has and the build has not. */
export interface NewFile {
  /** Relative to packages/. */
  readonly file: string;
  readonly text: string;
}

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const PACKAGES = ['contract', 'sdk', 'server', 'cli'] as const;
const PARTS = ['package.json', 'dist', 'sql', 'bin'] as const;

/**
 * Copies the build, optionally with patches, and returns the path of its command line. A run takes minutes, and a build
 * made meanwhile must not change what is under test. Installed packages are shared with the original.
 */
export function copyBuild(dir: string, patches: readonly Patch[] = [], files: readonly NewFile[] = []): string {
  linkModules(dir);
  for (const name of PACKAGES) {
    const [from, to] = [join(ROOT, 'packages', name), join(dir, 'packages', name)];
    for (const part of PARTS)
      if (existsSync(join(from, part))) cpSync(join(from, part), join(to, part), { recursive: true });
  }
  for (const name of PACKAGES) linkPackage(dir, name);
  for (const [file, text] of patched(patches)) writeFileSync(join(dir, 'packages', file), text);
  for (const { file, text } of files) writeFileSync(join(dir, 'packages', file), text);
  return join(dir, 'packages', 'cli', 'bin', 'millrace.mjs');
}

/**
 * Unpacks a release as `npm run release` keeps it, one folder per package, and returns the path of its command line. It
 * runs with the packages that are installed here.
 */
export function unpackRelease(dir: string, archive: string): string {
  linkModules(dir);
  mkdirSync(join(dir, 'packages'));
  execFileSync('tar', ['-xzf', archive, '-C', join(dir, 'packages')]);
  for (const name of PACKAGES) linkPackage(dir, name);
  return join(dir, 'packages', 'cli', 'bin', 'millrace.mjs');
}

const packageName = (name: string): string => (name === 'cli' ? 'millrace' : `@millrace/${name}`);

/** Everything that is installed but our own packages. */
function linkModules(dir: string): void {
  const modules = join(dir, 'node_modules');
  mkdirSync(join(modules, '@millrace'), { recursive: true });
  for (const name of readdirSync(join(ROOT, 'node_modules'))) {
    if (name !== '@millrace' && name !== 'millrace') symlinkSync(join(ROOT, 'node_modules', name), join(modules, name));
  }
}

function linkPackage(dir: string, name: string): void {
  const [from, to] = [join(ROOT, 'packages', name), join(dir, 'packages', name)];
  if (existsSync(join(from, 'node_modules'))) symlinkSync(join(from, 'node_modules'), join(to, 'node_modules'));
  symlinkSync(to, join(dir, 'node_modules', packageName(name)));
}

/** The patched files of the build. A patch that no longer applies would prove nothing, so it is an error. */
export function patched(patches: readonly Patch[]): ReadonlyMap<string, string> {
  const texts = new Map<string, string>();
  for (const { file, find, replace } of patches) {
    const text = texts.get(file) ?? readFileSync(join(ROOT, 'packages', file), 'utf8');
    const changed = text.replace(find, replace);
    if (changed === text) throw new Error(`the patch ${String(find)} does not apply to packages/${file}`);
    texts.set(file, changed);
  }
  return texts;
}
