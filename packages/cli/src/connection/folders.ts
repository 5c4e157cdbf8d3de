import { chmodSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, isAbsolute, join } from 'node:path';

/** A folder of the XDG base directories: the variable if it holds an absolute path, else its default in the home. */
function folder(env: NodeJS.ProcessEnv, variable: string, fallback: string): string {
  const given = env[variable];
  return join(given && isAbsolute(given) ? given : join(env.HOME || homedir(), fallback), 'millrace');
}

export const configFile = (env: NodeJS.ProcessEnv): string =>
  join(folder(env, 'XDG_CONFIG_HOME', '.config'), 'config.json');

export const recentFile = (env: NodeJS.ProcessEnv): string =>
  join(folder(env, 'XDG_STATE_HOME', join('.local', 'state')), 'recent.json');

/** The file's JSON; null if there is no file. */
export function readJson(path: string): unknown {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
  return JSON.parse(text);
}

/** Replaces a file as a whole, readable for its owner alone from the first byte on. */
export function writePrivately(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const draft = `${path}.${process.pid}`;
  try {
    writeFileSync(draft, text, { mode: 0o600, flag: 'w' });
    chmodSync(draft, 0o600);
    renameSync(draft, path);
  } catch (error) {
    rmSync(draft, { force: true });
    throw error;
  }
}
