import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { createClient, type Client } from './client.js';
import { environmentOf } from './pooled.js';
import { until } from './until.js';

/** The built binary; tests that use it need a build first, which `npm test` makes. */
export const MILLRACE = fileURLToPath(new URL('../../../cli/bin/millrace.mjs', import.meta.url));

export interface ProcessOptions {
  readonly args?: readonly string[];
  /** Instead of, not beside, the environment of the tests: no MILLRACE_ variable slips in. */
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** Another program than the binary, run by node. */
  readonly script?: string;
  /** Run as another user; only root may. */
  readonly account?: { readonly uid: number; readonly gid: number };
  /** At the head of a process group of its own, so that a signal to `-pid` is what Ctrl-C in a terminal is. */
  readonly detached?: boolean;
  /** A program, with its arguments, that runs node for us. */
  readonly via?: readonly string[];
}

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface TestProcess {
  readonly pid: number;
  readonly child: ChildProcess;
  stdout(): string;
  stderr(): string;
  /** Lines of the log written so far, those that are JSON. */
  log(): readonly Record<string, unknown>[];
  /** Resolves when the log has a line that matches; fails when the process ends before that. */
  logged(test: (line: Record<string, unknown>) => boolean, withinMs?: number): Promise<Record<string, unknown>>;
  signal(name: NodeJS.Signals): void;
  readonly exited: Promise<Exit>;
}

const running = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

export function spawnMillrace({
  args = [],
  env = {},
  cwd,
  script = MILLRACE,
  account,
  detached = false,
  via = [],
}: ProcessOptions = {}): TestProcess {
  const [program = '', ...rest] = [...via, process.execPath, script, ...args];
  const child = spawn(program, rest, {
    cwd,
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...environmentOf(env) },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached,
    ...account,
  });
  running.add(child);
  let [stdout, stderr] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  let ended = false;
  const exited = once(child, 'close').then(([code, signal]): Exit => {
    ended = true;
    running.delete(child);
    return { code: code as number | null, signal: signal as NodeJS.Signals | null };
  });
  const log = (): readonly Record<string, unknown>[] =>
    stdout
      .split('\n')
      .slice(0, -1)
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  return {
    pid: child.pid!,
    child,
    stdout: () => stdout,
    stderr: () => stderr,
    log,
    logged: (test, withinMs = 30_000) =>
      until(
        () => {
          const found = log().find(test);
          if (found === undefined && ended) throw new Error(`the process ended early: ${stderr || stdout}`);
          return found ?? `so far: ${stdout}${stderr}`;
        },
        { what: 'a line of the log', withinMs },
      ),
    signal: (name) => void child.kill(name),
    exited,
  };
}

export interface ServingProcess extends TestProcess {
  readonly apiUrl: string | null;
  readonly metricsUrl: string;
  as(token: string | null): Client;
}

/** A process that serves on free ports, once it does. */
export async function spawnServer({ args = [], ...options }: ProcessOptions = {}): Promise<ServingProcess> {
  const ports = ['--api-port=0', '--metrics-port=0', '--host=127.0.0.1', '--log-format=json'];
  const process = spawnMillrace({ ...options, args: [...ports, ...args] });
  const line = await process.logged((each) => each.msg === 'listening');
  const apiUrl = line.api as string | null;
  return {
    ...process,
    apiUrl,
    metricsUrl: line.metrics as string,
    as: (token) => createClient(apiUrl!, token),
  };
}

/** A killed process that nobody has buried yet is not running. */
export function isRunning(pid: number): boolean {
  try {
    return !readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z ');
  } catch {
    return false;
  }
}
