import { execFile } from 'node:child_process';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll } from 'vitest';

const ROOT = fileURLToPath(new URL('../../../../', import.meta.url));

export interface Ran {
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program to its end; rejects with what it said if it fails. */
export async function runToEnd(program: string, args: readonly string[], cwd: string, env = {}): Promise<Ran> {
  const options = { cwd, env: { ...clean(process.env), ...env }, maxBuffer: 16 * 1024 * 1024 };
  try {
    return await promisify(execFile)(program, args, options);
  } catch (error) {
    const { stdout, stderr } = error as Ran;
    throw new Error(`${program} ${args.join(' ')} failed\n${stdout}${stderr}`, { cause: error });
  }
}

export const npm = (args: readonly string[], cwd: string): Promise<Ran> =>
  runToEnd('npm', [...args, '--no-audit', '--no-fund'], cwd);

export const node = (args: readonly string[], cwd: string, env = {}): Promise<Ran> =>
  runToEnd(process.execPath, args, cwd, env);

/** What npm tells the programs that it runs must not narrow what they install; nor do they know of the tests. */
const clean = (env: NodeJS.ProcessEnv): NodeJS.ProcessEnv =>
  Object.fromEntries(
    Object.entries(env).filter(([name]) => !/^(npm_|MILLRACE_|VITEST|NODE_ENV$|NODE_OPTIONS$)/.test(name)),
  );

/** A folder outside the repository, where nothing is found but what is installed there. Gone after the tests. */
export async function emptyFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-installed-'));
  afterAll(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** The packages as they would be published, from what is built; returns the paths of their tarballs. */
export async function pack(names: readonly string[]): Promise<string[]> {
  const folder = await emptyFolder();
  const workspaces = names.flatMap((name) => ['--workspace', `packages/${name}`]);
  await npm(['pack', '--ignore-scripts', '--pack-destination', folder, ...workspaces], ROOT);
  return (await readdir(folder)).map((file) => join(folder, file));
}
