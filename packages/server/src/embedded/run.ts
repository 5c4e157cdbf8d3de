import { spawn } from 'node:child_process';
import type { Account } from './account.js';

export interface RunOptions {
  readonly account: Account | null;
  readonly cwd?: string;
  readonly input?: string;
}

export interface Outcome {
  readonly ok: boolean;
  readonly stderr: string;
}

/**
 * The environment of every PostgreSQL process: nothing inherited. PGDATA, PGPORT, LANG, LC_*, TZ or a library path of
 * whoever started us must not influence the database.
 */
export const CLEAN_ENVIRONMENT: NodeJS.ProcessEnv = { PATH: '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' };

/** Runs a program until it exits. Spawning drops supplementary groups together with the user. */
export function run(
  program: string,
  args: readonly string[],
  { account, cwd, input = '' }: RunOptions,
): Promise<Outcome> {
  return new Promise((resolve) => {
    const child = spawn(program, args, {
      env: CLEAN_ENVIRONMENT,
      stdio: ['pipe', 'ignore', 'pipe'],
      // Its own session: Ctrl-C must not stop an initialisation halfway without our noticing.
      detached: true,
      ...(cwd !== undefined && { cwd }),
      ...account,
    });
    let stderr = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
    child.on('error', (error) => {
      resolve({ ok: false, stderr: error.message });
    });
    child.on('close', (code) => {
      resolve({ ok: code === 0, stderr });
    });
    child.stdin.on('error', () => undefined); // it may exit before it has read everything; its exit code decides
    child.stdin.end(input);
  });
}
