/**
 * Makes a release: version, changelog, tarballs, the wheel and source of the Python package, bill of materials, chart,
 * container context, checksums; and keeps what of it runs, for the next release to be tested against.
 *
 *   npm run release -- --version 0.3.0              changes the version, commits, tags, and writes release/
 *   npm run release -- --version 0.3.0 --dry-run    writes the same files and changes nothing else; any version will do
 *   npm run release -- --dry-run --out DIR          elsewhere, and with the present version
 *
 * It publishes nothing and pushes nothing: it says which commands do.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { PUBLISHED, shippedPackages } from './lib/lockfile.mjs';
import { keepRelease } from './lib/kept-release.mjs';
import { packPython } from './lib/python-package.mjs';
import { billOfMaterials } from './lib/sbom.mjs';
import { buildAll, installed } from './lib/setup.mjs';
import { npmCommand, root } from './lib/tools.mjs';
import { changelogOf, withVersion } from './lib/versions.mjs';

const { values } = parseArgs({
  options: { version: { type: 'string' }, out: { type: 'string' }, 'dry-run': { type: 'boolean', default: false } },
});
const isDry = values['dry-run'];
const version = values.version ?? JSON.parse(read('packages/server/package.json')).version;
const out = resolve(root, values.out ?? 'release');
const date = new Date().toISOString();
/** Where the fault suite finds the release before. Each release replaces what is there. */
const KEPT = 'tools/chaos/releases/previous.tgz';
/** What is compiled or bundled, and so not in the repository. */
const BUILT = [...PUBLISHED.map((name) => `packages/${name}/dist`), 'packages/sdk/cjs'];
const stage = mkdtempSync(join(tmpdir(), 'millrace-release-'));
process.once('exit', () => rmSync(stage, { recursive: true, force: true }));

check();
await build();
const changed = prepareStage();
rmSync(out, { recursive: true, force: true });
mkdirSync(out, { recursive: true });
packPackages();
await packClient();
const kept = keepRelease({ tarballs: out, version, to: out });
writeDocuments();
archive(`millrace-chart-${version}.tgz`, join(stage, 'deploy/helm'), ['millrace']);
archive(`millrace-${version}-container.tar.gz`, stage, containerContext());
writeChecksums();
if (isDry) {
  const files = [...changed, KEPT].join(', ');
  console.log(`dry run: nothing but ${out} was changed; these files would be: ${files}`);
} else commit();

/** Refuses what would make a bad release, before anything is written. */
function check() {
  if (!/^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$/.test(version)) fail(`${version} is not a version: 1.2.3, or 1.2.3-rc.1`);
  if (out === root || root.startsWith(`${out}/`)) fail('--out would remove this repository');
  if (isDry) return;
  if (git('status', '--porcelain') !== '') fail('there are changes that are not committed');
  if (git('tag', '--list', `v${version}`) !== '') fail(`v${version} is tagged already`);
  if (changelogOf(read('CHANGELOG.md'), version) === null) fail(`CHANGELOG.md has no section for ${version}`);
}

/** The tarballs hold what was compiled. A dry run takes what there is. */
async function build() {
  if (isDry && BUILT.every((folder) => existsSync(join(root, folder)))) return;
  await installed();
  if ((await buildAll()) !== 0) fail('the build failed');
}

/** A copy of what is committed or will be, with the new version in it, and of what was built. */
function prepareStage() {
  const files = git('ls-files', '--cached', '--others', '--exclude-standard', '-z').split('\0').filter(Boolean);
  for (const path of files.filter((each) => existsSync(join(root, each)))) {
    mkdirSync(join(stage, dirname(path)), { recursive: true });
    cpSync(join(root, path), join(stage, path));
  }
  for (const folder of BUILT) cpSync(join(root, folder), join(stage, folder), { recursive: true });
  return files.filter((path) => {
    const before = existsSync(join(stage, path)) ? readFileSync(join(stage, path), 'utf8') : null;
    const after = before === null ? null : withVersion(path, before, version, date.slice(0, 10));
    if (after === before) return false;
    writeFileSync(join(stage, path), after);
    return true;
  });
}

function packPackages() {
  const [program, ...first] = npmCommand();
  const workspaces = PUBLISHED.flatMap((name) => ['--workspace', `packages/${name}`]);
  run(program, [...first, 'pack', '--ignore-scripts', '--pack-destination', out, ...workspaces], stage);
}

/** A dry run shows what can be shown here. */
async function packClient() {
  const options = { source: join(stage, 'clients/python'), out, scratch: stage };
  const missing = await packPython(options).catch((error) => fail(`the Python package: ${error.message}`));
  if (missing === null) return;
  if (!isDry) fail(`the Python package cannot be built: ${missing}`);
  console.log(`dry run: WITHOUT the Python package: ${missing}`);
}

function writeDocuments() {
  const packages = shippedPackages(root);
  const bill = billOfMaterials({ version, date, packages });
  writeFileSync(join(out, `millrace-${version}.cdx.json`), `${JSON.stringify(bill, null, 2)}\n`);
  const notes = changelogOf(read('CHANGELOG.md'), version) ?? changelogOf(read('CHANGELOG.md'), null);
  writeFileSync(join(out, 'RELEASE_NOTES.md'), `# Millrace ${version}\n\n${notes}\n`);
}

/** What deploy/docker/Dockerfile.dockerignore lets through, by its own list. */
function containerContext() {
  const kept = read('deploy/docker/Dockerfile.dockerignore').matchAll(/^!(.+)$/gm);
  return [...[...kept].map(([, path]) => path), 'deploy/docker/Dockerfile', 'deploy/docker/Dockerfile.dockerignore'];
}

function archive(name, directory, paths) {
  run('tar', ['-czf', join(out, name), '--exclude=dist', '-C', directory, ...paths], stage);
}

/** As `sha256sum --check` reads them. */
function writeChecksums() {
  const names = readdirSync(out).sort();
  const sum = (name) =>
    createHash('sha256')
      .update(readFileSync(join(out, name)))
      .digest('hex');
  writeFileSync(join(out, 'SHA256SUMS'), names.map((name) => `${sum(name)}  ${name}\n`).join(''));
  for (const name of [...names, 'SHA256SUMS']) console.log(join(out, name));
}

function commit() {
  for (const path of changed) cpSync(join(stage, path), join(root, path));
  cpSync(kept, join(root, KEPT));
  git('add', '--', ...changed, KEPT);
  git('commit', '--quiet', '--message', `Release ${version}`, '--', ...changed, KEPT);
  git('tag', '--annotate', `v${version}`, '--message', `Millrace ${version}`);
  const tarballs = PUBLISHED.map((name) => (name === 'cli' ? 'millrace' : `millrace-${name}`));
  const publish = tarballs.map((name) => `  npm publish --access public ${join(out, `${name}-${version}.tgz`)}`);
  const image = `  docker build -f deploy/docker/Dockerfile -t millrace:${version} .`;
  const python = `  python3 -m twine upload ${join(out, 'millrace_client-*')}`;
  console.log(['', 'to publish it:', '  git push --follow-tags', ...publish, python, image].join('\n'));
}

function read(path) {
  return readFileSync(join(root, path), 'utf8');
}

function git(...args) {
  return run('git', args, root);
}

function run(program, args, cwd) {
  const { status, stdout, stderr, error } = spawnSync(program, args, { cwd, encoding: 'utf8', maxBuffer: 2 ** 26 });
  if (status !== 0) fail(`${program} ${args[0]} failed: ${error?.message ?? stderr}`);
  return stdout;
}

function fail(message) {
  console.error(`release: ${message}`);
  process.exit(1);
}
