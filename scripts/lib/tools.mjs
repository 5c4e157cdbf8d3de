import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { setPriority } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('../..', import.meta.url));

/**
 * Runs a program on this terminal until it exits; resolves to its exit code. A request to end is passed on, so that
 * nothing is left running; a terminal's Ctrl-C reaches the program by itself, and we wait for what it makes of it.
 */
export function run(program, args, { env = process.env, niceness = 0, cwd = root } = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { cwd, env, stdio: 'inherit' });
    if (niceness > 0 && child.pid !== undefined) setPriority(child.pid, niceness);
    const passOn = (signal) => void child.kill(signal);
    const wait = () => undefined;
    process.on('SIGTERM', passOn).on('SIGHUP', passOn).on('SIGINT', wait);
    child.on('error', reject);
    child.on('close', (code, signal) => {
      process.off('SIGTERM', passOn).off('SIGHUP', passOn).off('SIGINT', wait);
      resolve(code ?? (signal === 'SIGINT' ? 130 : 1));
    });
  });
}

/** Runs a program of an installed package with this Node: no shell, no PATH, no wrapper that swallows signals. */
export function runTool(packageName, tool, args, options) {
  const home = join(root, 'node_modules', packageName);
  const { bin } = JSON.parse(readFileSync(join(home, 'package.json'), 'utf8'));
  return run(process.execPath, [join(home, typeof bin === 'string' ? bin : bin[tool]), ...args], options);
}

/** Runs npm: the one that runs us, else the one on the PATH. */
export function runNpm(args) {
  const [program, ...first] = npmCommand();
  return run(program, [...first, ...args], { env: installEnvironment() });
}

/** How npm is called: a program and its first arguments. */
export function npmCommand() {
  const running = process.env.npm_execpath;
  const isNpm = running !== undefined && basename(running) === 'npm-cli.js';
  return isNpm ? [process.execPath, running] : ['npm'];
}

/**
 * npm passes its own configuration on in the environment. Where packages come from is wanted; what narrowed the command
 * that runs us (`npm start --omit=dev`, `npm test --workspace=...`) must not narrow the installation.
 */
const narrowing = new RegExp(
  `^npm_config_(${[
    'omit|include|production|only|also|optional|dev|workspaces?|include_workspace_root|global|location|dry_run',
    'package_lock.*|install_.*|local_prefix|prefix|if_present|save.*|os|cpu|libc',
  ].join('|')})$`,
  'i',
);

function installEnvironment() {
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !narrowing.test(name)));
  delete env.NODE_ENV;
  return env;
}

/** The number in the value of a flag; ends the program if it is none. */
export function wholeNumber(name, text) {
  if (/^\d{1,6}$/.test(text)) return Number(text);
  console.error(`--${name} must be a whole number, not ${text}`);
  process.exit(2);
}
