/** The checks of clients/python, in an environment of their own below .cache. */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { root, run } from './tools.mjs';

const home = join(root, 'clients', 'python');
const requirements = join(home, 'requirements-test.txt');
const OLDEST = '3.10';

/** What is missing for the checks; null if nothing is. */
let missing = null;

/** Runs linter, type checkers and tests; resolves to the exit code. Without Python it does nothing, and says so. */
export async function python() {
  missing = whatIsMissing();
  if (missing !== null) return 0;
  const program = await environment();
  if (program === null) return 1;
  const env = {
    ...process.env,
    PYTHONPATH: [join(home, 'src'), process.env.PYTHONPATH].filter(Boolean).join(delimiter),
  };
  const checks = [
    ['-m', 'ruff', 'check', home],
    ['-m', 'ruff', 'format', '--check', home],
    ['-m', 'mypy', '--config-file', join(home, 'pyproject.toml')],
    ['-m', 'pyright', '--project', home, '--pythonpath', program],
    ['-m', 'pytest', '-c', join(home, 'pyproject.toml'), '--rootdir', home],
  ];
  for (const check of checks) {
    const code = await run(program, check, { env, cwd: home });
    if (code !== 0) return code;
  }
  return 0;
}

/** An interpreter with the tools of the tests, the builder among them, or why there is none (`missing`). */
export async function pythonTools() {
  const reason = whatIsMissing();
  if (reason !== null) return { program: null, missing: reason };
  const program = await environment();
  return { program, missing: program === null ? 'its tools could not be installed' : null };
}

export function warnWithoutPython(command) {
  if (missing !== null) console.error(`\n${command}: WITHOUT the tests of clients/python: ${missing}.`);
}

function whatIsMissing() {
  const asks = `import sys, venv, ensurepip; sys.exit(sys.version_info < (${OLDEST.replace('.', ', ')}))`;
  const { status, error } = spawnSync('python3', ['-c', asks], { stdio: 'ignore' });
  if (error !== undefined) return 'there is no python3 here';
  return status === 0 ? null : `python3 is older than ${OLDEST}, or has no venv`;
}

/** The interpreter of an environment with the tools of the tests; made anew when they change. Null if that fails. */
async function environment() {
  const version = spawnSync('python3', ['-V'], { encoding: 'utf8' }).stdout;
  const wanted = createHash('sha256').update(version).update(readFileSync(requirements)).digest('hex');
  const folder = join(root, '.cache', 'python');
  const stamp = join(folder, 'installed');
  const program = join(folder, 'bin', 'python');
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted) return program;
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const install = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '-r', requirements];
  const code = (await run('python3', ['-m', 'venv', folder])) || (await run(program, install));
  if (code !== 0) return null;
  writeFileSync(stamp, wanted);
  return program;
}
