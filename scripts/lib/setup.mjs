import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { withLock } from './lock.mjs';
import { root, run, runNpm, runTool } from './tools.mjs';

const OLDEST_NODE = [20, 12];

/** Makes a clone ready to run: installs packages and builds the command line. Quick if that has been done. */
export async function ready() {
  refuseOldNode();
  if (isInstalled() && isBuilt()) return;
  await withLock(root, async () => {
    // Check again: whoever held the lock before us was most likely doing the same.
    if (!isInstalled()) await install();
    if (isBuilt()) return;
    if ((await timed('building', () => build(['packages/cli']))) !== 0) fail('the build failed; see above');
  });
}

/** Installs packages only, for callers that build by themselves. */
export async function installed() {
  refuseOldNode();
  if (!isInstalled()) await withLock(root, async () => isInstalled() || install());
}

/** Builds everything, including tests; resolves to the exit code. */
export const buildAll = () => withLock(root, () => build([]));

/** Builds one package and its dependencies; resolves to the exit code. */
export const buildPackage = (path) => withLock(root, () => build([path]));

/** Builds the dashboard alone; resolves to the exit code. */
export const buildDashboard = () => runTool('vite', 'vite', ['build', 'packages/dashboard', '--logLevel', 'warn']);

/** Builds a tool and runs its program; resolves to the exit code. */
export async function runBuilt(path, args) {
  await installed();
  const code = await buildPackage(path);
  return code === 0 ? run(process.execPath, [join(root, path, 'dist', 'main.js'), ...args]) : code;
}

function refuseOldNode() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major > OLDEST_NODE[0] || (major === OLDEST_NODE[0] && minor >= OLDEST_NODE[1])) return;
  fail(`Node.js ${OLDEST_NODE.join('.')} or newer is needed, this is ${process.versions.node}`);
}

async function install() {
  const args = ['ci', '--include=dev', '--include=optional', '--no-audit', '--no-fund'];
  if ((await timed('installing packages (npm ci)', () => runNpm(args))) !== 0) fail('npm ci failed; see above');
}

/** Says what is being done and, at the end, how long it took. */
async function timed(what, work) {
  console.error(`${what} ...`);
  const start = performance.now();
  const code = await work();
  if (code === 0) console.error(`${what}: done in ${((performance.now() - start) / 1000).toFixed(1)} s`);
  return code;
}

/**
 * npm writes node_modules/.package-lock.json last. If it agrees with package-lock.json on everything that belongs on
 * this machine, the installation is complete, whoever made it; one that was killed never agrees.
 */
function isInstalled() {
  const wanted = readPackages(join(root, 'package-lock.json'));
  const found = readPackages(join(root, 'node_modules', '.package-lock.json'));
  return Object.entries(wanted).every(([path, entry]) => {
    if (path === '' || !path.includes('node_modules/') || !isForThisMachine(entry)) return true;
    // A workspace is a link, which is missing or leads nowhere after a workspace was added or moved.
    if (entry.link) return existsSync(join(root, path, 'package.json'));
    return found[path]?.version === entry.version && existsSync(join(root, path, 'package.json'));
  });
}

function readPackages(path) {
  try {
    return JSON.parse(readFileSync(path, 'utf8')).packages ?? {};
  } catch {
    return {};
  }
}

/** Ignores packages for other systems, and optional ones that npm selects by more than system and processor. */
function isForThisMachine({ os, cpu, libc, optional }) {
  const fits = (list, value) => list === undefined || list.includes(value);
  if (!fits(os, process.platform) || !fits(cpu, process.arch)) return false;
  return !(optional && libc !== undefined);
}

const stampFile = join(root, '.cache', 'built');

function isBuilt() {
  try {
    return existsSync(join(root, 'packages/cli/dist/main.js')) && isDashboardBuilt();
  } catch {
    return false;
  }
}

/** The stamp covers every source, and is written only after a build of both. */
function isDashboardBuilt() {
  const built = existsSync(join(root, 'packages/dashboard/dist/index.html'));
  return built && existsSync(stampFile) && readFileSync(stampFile, 'utf8') === fingerprint();
}

async function build(projects) {
  const before = fingerprint();
  // tsc goes by file times, and copying files over a built clone brings new contents with old times.
  const force = isBuilt() ? [] : ['--force'];
  // Side by side: the bundler needs nothing that the compiler makes, because types leave nothing behind.
  const types = runTool('typescript-native', 'tsc', ['-b', ...projects, ...force]);
  const files = isDashboardBuilt() ? 0 : buildDashboard();
  const code = (await types) || (await files);
  if (code === 0) {
    mkdirSync(join(root, '.cache'), { recursive: true });
    writeFileSync(stampFile, before);
  }
  return code;
}

/** A hash of everything the build reads. By content, not by time: a checkout changes times and a copy keeps them. */
function fingerprint() {
  const hash = createHash('sha256');
  const projects = ['packages', 'tools'].flatMap((dir) => readdirSync(join(root, dir)).map((name) => join(dir, name)));
  const sources = projects.flatMap((dir) => [
    join(dir, 'tsconfig.json'),
    join(dir, 'tsconfig.cjs.json'),
    join(dir, 'package.json'),
    join(dir, 'vite.config.ts'),
    join(dir, 'index.html'),
    ...list(join(dir, 'src')),
  ]);
  for (const path of ['package-lock.json', 'tsconfig.json', 'tsconfig.base.json', ...sources]) {
    if (!existsSync(join(root, path))) continue;
    hash
      .update(`${path}\0`)
      .update(readFileSync(join(root, path)))
      .update('\0');
  }
  return hash.digest('hex');
}

function list(dir) {
  if (!existsSync(join(root, dir))) return [];
  return readdirSync(join(root, dir), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name).slice(root.length))
    .sort();
}

function fail(message) {
  console.error(`millrace: ${message}`);
  process.exit(1);
}
