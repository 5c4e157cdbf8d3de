import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';

/** A real server for tests; can be given to `new Millrace()` and `new Worker()`. */
export interface DevServer {
  readonly url: string;
  readonly token: string;
  stop(): Promise<void>;
}

/** A first start creates a database; on a busy machine that takes a while. */
const START_MS = 120_000;
/** How many of the last lines an error quotes. */
const LINES_KEPT = 20;

/**
 * The real service: `millrace --dev` on a free port, with a data directory of its own that `stop()` removes. Needs the
 * package `millrace` (`npm i -D millrace`). What it returns can be given to `new Millrace()` and `new Worker()`.
 *
 * @example
 * const dev = await devServer();
 * const millrace = new Millrace(dev);
 * // …
 * await dev.stop();
 */
export async function devServer(): Promise<DevServer> {
  const directory = await mkdtemp(join(tmpdir(), 'millrace-dev-'));
  const flags = ['--dev', '--host=127.0.0.1', '--api-port=0', '--metrics-port=0', '--log-format=json'];
  const child = spawn(process.execPath, [command(), ...flags, `--data-dir=${join(directory, 'data')}`], {
    // The environment of the person who runs the tests must not decide which database they use.
    env: Object.fromEntries(
      Object.entries(process.env).filter(([name]) => !/^(MILLRACE_|DATABASE_URL$|PG)/.test(name)),
    ),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const kill = (): void => void child.kill('SIGKILL');
  process.once('exit', kill);
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const stop = async (): Promise<void> => {
    process.removeListener('exit', kill);
    child.kill('SIGTERM');
    await ended;
    await rm(directory, { recursive: true, force: true });
  };
  try {
    return { url: await addressOf(child), token: 'dev', stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** The program of the package `millrace`, as the project under test has installed it. */
function command(): string {
  try {
    const manifest = createRequire(join(process.cwd(), 'package.json')).resolve('millrace/package.json');
    return join(dirname(manifest), 'bin', 'millrace.mjs');
  } catch (cause) {
    throw new Error('devServer() needs the package "millrace": npm i -D millrace', { cause });
  }
}

/** Where the server says that it listens. */
function addressOf(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    const lines: string[] = [];
    const refuse = (reason: string): void => reject(new Error([`millrace --dev ${reason}`, ...lines].join('\n')));
    const timer = setTimeout(() => refuse(`did not start within ${START_MS / 1_000} s`), START_MS);
    const read = (line: string): void => {
      lines.push(line);
      if (lines.length > LINES_KEPT) lines.shift();
      const found = /"api":"(http[^"]+)"/.exec(line);
      if (found?.[1] === undefined || !line.includes('"msg":"listening"')) return;
      clearTimeout(timer);
      resolve(found[1]);
    };
    for (const stream of [child.stdout, child.stderr]) {
      if (stream !== null) createInterface({ input: stream }).on('line', read);
    }
    child.once('exit', (code) => {
      clearTimeout(timer);
      refuse(`ended with code ${code ?? 'none'}`);
    });
    child.once('error', (error) => {
      clearTimeout(timer);
      refuse(error.message);
    });
  });
}
