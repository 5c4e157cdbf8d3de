import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';

export interface DevServer {
  readonly url: string;
  stop(): Promise<void>;
}

/** The command line that is installed beside this package. */
export const installedServer = (): string =>
  join(dirname(createRequire(import.meta.url).resolve('millrace/package.json')), 'bin', 'millrace.mjs');

const STOP_MS = 20_000;

/**
 * Starts `millrace --dev` on free ports, with a database of its own in a directory that is removed afterwards. In mode
 * `api`, so that nothing but the worker under test takes jobs, from the default queue either.
 */
export async function startDevServer(program: string): Promise<DevServer> {
  const directory = await mkdtemp(join(tmpdir(), 'millrace-conformance-'));
  const flags = ['--dev', '--mode=api', '--host=127.0.0.1', '--api-port=0', '--metrics-port=0', '--log-format=json'];
  const child = spawn(process.execPath, [program, ...flags, `--data-dir=${directory}`, '--shutdown-secs=2'], {
    env: { PATH: process.env.PATH, HOME: process.env.HOME },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  // It then stops its database by itself; killed, it could not.
  const killAtExit = (): void => void child.kill('SIGTERM');
  process.once('exit', killAtExit);
  const exited = once(child, 'close');
  const remove = (): Promise<void> => rm(directory, { recursive: true, force: true });
  const stop = async (): Promise<void> => {
    child.kill('SIGTERM');
    const impatience = setTimeout(() => child.kill('SIGKILL'), STOP_MS);
    await exited;
    clearTimeout(impatience);
    process.off('exit', killAtExit);
    await remove();
  };
  try {
    return { url: await addressIn(child), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** The address from the line that says `listening`. Keeps reading, or a full pipe would block the server. */
function addressIn({ stdout, stderr }: ChildProcess): Promise<string> {
  if (stdout === null || stderr === null) throw new Error('the server has no output to read');
  let complaint = '';
  stderr.setEncoding('utf8').on('data', (text: string) => {
    complaint = (complaint + text).slice(-2000);
  });
  return new Promise((resolve, reject) => {
    const lines = createInterface({ input: stdout });
    lines.on('line', (line) => {
      if (!line.startsWith('{')) return;
      const { msg, api } = JSON.parse(line) as { msg?: string; api?: string };
      if (msg === 'listening' && api !== undefined) resolve(api);
    });
    lines.on('close', () => reject(new Error(`the server exited before it was listening\n${complaint}`)));
  });
}
