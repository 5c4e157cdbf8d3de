/** What of package-lock.json reaches users: what the published packages depend on, and what the dashboard bundles. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** In an order in which each finds what it depends on. */
export const PUBLISHED = ['contract', 'sdk', 'dashboard', 'server', 'cli', 'conformance'];

/**
 * Each third-party package once per version, sorted by name: its name, version, licence and hash, what it depends on,
 * and whether it is `installed` with ours or `bundled` into the dashboard.
 */
export function shippedPackages(root) {
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));
  const found = new Map();
  const visit = (path, how) => {
    const entry = packages[path];
    if (entry.link) return visit(entry.resolved ?? path, how);
    const isOurs = !path.includes('node_modules/');
    if (!isOurs && found.has(path)) return;
    const names = Object.keys({ ...entry.dependencies, ...entry.optionalDependencies });
    const needed = names.map((name) => [name, resolve(packages, path, name)]).filter(([, at]) => at !== undefined);
    if (!isOurs)
      found.set(
        path,
        describe(
          path,
          entry,
          how,
          needed.map(([, at]) => at),
        ),
      );
    for (const [name, at] of needed) if (!isOwn(name)) visit(at, how);
  };
  for (const name of PUBLISHED) visit(`packages/${name}`, 'installed');
  for (const name of bundledNames(root)) visit(resolve(packages, 'packages/dashboard', name), 'bundled');
  const list = [...found.values()].map(({ needs, ...rest }) => ({
    ...rest,
    dependsOn: needs.filter((at) => found.has(at)).map((at) => idOf(found.get(at))),
  }));
  const unique = new Map(list.map((each) => [idOf(each), each]));
  return [...unique.values()].sort((a, b) => (idOf(a) < idOf(b) ? -1 : 1));
}

const isOwn = (name) => name === 'millrace' || name.startsWith('@millrace/');
export const idOf = ({ name, version }) => `${name}@${version}`;

function describe(path, { version, license, integrity }, how, needs) {
  const name = path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
  return { name, version, licence: license ?? 'unknown', integrity, how, needs };
}

/** As Node.js looks a package up: beside the one that asks, then upwards. */
function resolve(packages, from, name) {
  for (let base = from; ; base = base.slice(0, Math.max(0, base.lastIndexOf('/')))) {
    const path = base === '' ? `node_modules/${name}` : `${base}/node_modules/${name}`;
    if (packages[path] !== undefined) return path;
    if (base === '') return undefined;
  }
}

/** The packages that the sources of the dashboard import; types leave nothing behind. */
function bundledNames(root) {
  const directory = join(root, 'packages/dashboard/src');
  const files = readdirSync(directory, { recursive: true, encoding: 'utf8' }).filter((name) => /\.tsx?$/.test(name));
  const imports = files.flatMap((name) => [
    ...readFileSync(join(directory, name), 'utf8').matchAll(
      /^(?:import|export) (?!type )[^;]*?from '((?:@[^/']+\/)?[^./'][^/']*)/gm,
    ),
  ]);
  return [...new Set(imports.map(([, name]) => name))].filter((name) => !isOwn(name)).sort();
}
