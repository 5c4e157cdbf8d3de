/**
 * Packs every public package, installs the tarballs into an empty folder, and uses them there as a user would.
 *
 *   npm run packages               with npm and the registry; on this Node, on 22 and on 24; a minute or more
 *   npm run packages -- --linked   without them: what the packages depend on is this clone's; on this Node
 *                                  (npm run test:full)
 */
import { spawn } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { buildAll, installed } from './lib/setup.mjs';
import { npmCommand, root } from './lib/tools.mjs';
import { step } from './lib/steps.mjs';

const PACKAGES = ['contract', 'sdk', 'dashboard', 'server', 'cli', 'conformance'];
/** Made of files for browsers; all others are compiled TypeScript. */
const DASHBOARD = '@millrace/dashboard';
const OTHER_NODES = ['22', '24'];

const linked = process.argv.includes('--linked');
const home = mkdtempSync(join(tmpdir(), 'millrace-packages-'));
process.once('exit', () => rmSync(home, { recursive: true, force: true }));

/** Set on the way, by those steps that all later ones need. */
let packed;
let folder;

try {
  await main();
} catch (error) {
  console.log(`FAIL  ${error.message}`);
  process.exit(1);
}

async function main() {
  await installed();
  // `npm run test:full` has built everything, and its other tests are using the files.
  if (!linked) await step('build', build);
  packed = await step('pack', pack);
  for (const each of packed) await step(`contents of ${each.name}`, () => checkContents(each));
  await step('@millrace/sdk alone brings nothing else', sdkAlone);
  folder = await step(linked ? 'unpack' : 'install', linked ? unpack : install);
  await step('millrace-conformance --help', () => node([binOf('@millrace/conformance'), '--help'], { cwd: folder }));
  if (!linked) await step('types', checkTypes);
  await step(`service, client and worker on Node ${process.versions.node}`, () => smoke(process.execPath));
  for (const version of linked ? [] : OTHER_NODES) {
    const program = await step(`install Node ${version}`, () => otherNode(version));
    const exact = (await command(program, ['--version'])).stdout.trim().slice(1);
    await step(`service, client and worker on Node ${exact}`, () => smoke(program));
  }
}

async function build() {
  if ((await buildAll()) !== 0) throw new Error('see above');
}

/** Without `prepack`, which builds the dashboard for whoever packs by hand: that has been done. */
async function pack() {
  const options = ['--json', '--ignore-scripts', '--pack-destination', home];
  const { stdout } = await npm(['pack', ...options, ...PACKAGES.flatMap(workspace)], root);
  const list = JSON.parse(stdout);
  return (Array.isArray(list) ? list : Object.values(list)).map(({ name, filename, files }) => ({
    name,
    tarball: join(home, filename.replace('@', '').replace('/', '-')),
    files: files.map(({ path }) => path),
  }));
}

function workspace(name) {
  return ['--workspace', `packages/${name}`];
}

/** README, licence, what the manifest names, and all that was built; no test, no leftover of the build. */
function checkContents({ name, tarball, files }) {
  const directory = PACKAGES.find((each) => manifestOf(join(root, 'packages', each)).name === name);
  const manifest = manifestOf(join(root, 'packages', directory));
  const { engines, exports = {}, bin = {} } = manifest;
  const built = name === DASHBOARD ? dashboardFiles(manifest) : compiledFiles(files);
  const named = Object.values(exports).flatMap(filesOf);
  const wanted = ['README.md', 'LICENSE', ...built, ...named.map((path) => path.slice(2)), ...Object.values(bin)];
  const missing = wanted.filter((path) => !files.includes(path));
  if (missing.length > 0 || built.length === 0) throw new Error(`${tarball} lacks ${missing.join(', ') || 'its code'}`);
  const unwanted = files.filter((path) => /^test\/|tsbuildinfo|\.test\./.test(path));
  if (unwanted.length > 0) throw new Error(`${tarball} contains ${unwanted.join(', ')}`);
  if (engines?.node !== manifestOf(root).engines.node) throw new Error(`${name} does not say which Node it needs`);
}

/** The files that an entry of `exports` names, whatever the conditions. */
function filesOf(entry) {
  return typeof entry === 'string' ? [entry] : Object.values(entry).flatMap(filesOf);
}

/** For every source its code, its types and its source map, in each format of the package. */
function compiledFiles(files) {
  const sources = files.filter((path) => /^src\/.*\.ts$/.test(path)).map((path) => path.slice(4, -3));
  const formats = files.includes('cjs/package.json') ? ['dist', 'cjs'] : ['dist'];
  const ends = ['.js', '.d.ts', '.js.map'];
  return formats.flatMap((format) => sources.flatMap((path) => ends.map((end) => `${format}/${path}${end}`)));
}

/** The document, the files that it names, and all that those load later: whatever the build has put there. */
function dashboardFiles({ dependencies, optionalDependencies, peerDependencies }) {
  const others = Object.keys({ ...dependencies, ...optionalDependencies, ...peerDependencies });
  if (others.length > 0) throw new Error(`the dashboard is files, and brings ${others.join(', ')}`);
  const dist = join(root, 'packages/dashboard/dist');
  const named = [...readFileSync(join(dist, 'index.html'), 'utf8').matchAll(/"\.\/(assets\/[^"]+)"/g)];
  if (named.length === 0) throw new Error('the document of the dashboard names no script');
  const built = readdirSync(join(dist, 'assets')).map((file) => `assets/${file}`);
  return ['index.html', ...named.map(([, path]) => path), ...built].map((path) => `dist/${path}`);
}

async function sdkAlone() {
  const alone = emptyFolder('alone');
  await npm(['install', '--offline', '--ignore-scripts', tarballOf('@millrace/sdk')], alone);
  const found = packagesIn(alone);
  if (found.join() !== '@millrace/sdk') throw new Error(`it brings ${found.join(', ')}`);
  copySmoke(alone);
  await node(['app.mjs'], { cwd: alone });
}

async function install() {
  const target = emptyFolder('installed');
  await npm(['install', ...packed.map(({ tarball }) => tarball)], target);
  copySmoke(target);
  return target;
}

/** The tarballs as npm would unpack them; what they depend on is linked. */
async function unpack() {
  const target = emptyFolder('unpacked');
  const modules = join(target, 'node_modules');
  for (const { name, tarball } of packed) {
    mkdirSync(join(modules, name), { recursive: true });
    await command('tar', ['-xzf', tarball, '-C', join(modules, name), '--strip-components=1']);
  }
  for (const name of readdirSync(join(root, 'node_modules'))) {
    if (!existsSync(join(modules, name))) symlinkSync(join(root, 'node_modules', name), join(modules, name));
  }
  copySmoke(target);
  return target;
}

async function otherNode(version) {
  const target = emptyFolder(`node-${version}`);
  await npm(['install', `node@${version}`], target);
  return join(target, 'node_modules/node/bin/node');
}

async function smoke(program) {
  await node(['app.mjs', '--server'], { cwd: folder, program });
}

async function checkTypes() {
  const tsc = join(root, 'node_modules/typescript/bin/tsc');
  const types = join(root, 'node_modules/@types');
  const options = ['--noEmit', '--strict', '--module', 'nodenext', '--target', 'es2022', '--lib', 'es2023'];
  await node([tsc, ...options, '--typeRoots', types, '--types', 'node', 'app.ts'], { cwd: folder });
}

function copySmoke(target) {
  for (const name of ['app.mjs', 'app.ts']) cpSync(join(root, 'scripts/smoke', name), join(target, name));
}

function emptyFolder(name) {
  const path = join(home, name);
  mkdirSync(path);
  // Without a manifest of its own npm would look for one further up.
  cpSync(join(root, 'scripts/smoke/package.json'), join(path, 'package.json'));
  return path;
}

function tarballOf(name) {
  return packed.find((each) => each.name === name).tarball;
}

function binOf(name) {
  const place = join(folder, 'node_modules', name);
  return join(place, Object.values(manifestOf(place).bin)[0]);
}

function manifestOf(directory) {
  return JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8'));
}

function packagesIn(directory) {
  const modules = join(directory, 'node_modules');
  return readdirSync(modules)
    .filter((name) => !name.startsWith('.'))
    .flatMap((name) => (name[0] === '@' ? readdirSync(join(modules, name)).map((each) => `${name}/${each}`) : [name]));
}

/** Any word on stderr is a warning, and fails. */
async function node(args, { cwd, program = process.execPath }) {
  const { stderr } = await command(program, args, { cwd });
  if (stderr !== '') throw new Error(`${args.join(' ')} warns: ${stderr}`);
}

function npm(args, cwd) {
  const [program, ...first] = npmCommand();
  return command(program, [...first, ...args, '--no-audit', '--no-fund'], { cwd });
}

/** Resolves to what it printed; rejects with it if it fails. */
function command(program, args, { cwd = dirname(root) } = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { cwd, stdio: ['ignore', 'pipe', 'pipe'] });
    let [stdout, stderr] = ['', ''];
    child.stdout.setEncoding('utf8').on('data', (text) => (stdout += text));
    child.stderr.setEncoding('utf8').on('data', (text) => (stderr += text));
    child.on('error', reject);
    child.on('close', (code) => {
      if (code === 0) return resolve({ stdout, stderr });
      reject(new Error(`${program} ${args.join(' ')} ended with ${code}\n${stdout}${stderr}`));
    });
  });
}
