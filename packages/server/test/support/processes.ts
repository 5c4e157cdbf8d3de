import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { createClient, type Client } from './client.js';
import { environmentOf } from './pooled.js';
import { until } from './until.js';

/** The built binary. Tests that use it need a build, which `npm test` makes first. */
export const MILLRACE = fileURLToPath(new URL('../../../cli/bin/millrace.mjs', import.meta.url));

export interface ProcessOptions {
  readonly args?: readonly string[];
  /** Replaces the environment of the tests, so that no MILLRACE_ variable slips in. */
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** A program to run with node instead of the binary. */
  readonly script?: string;
  /** Run as another user; only root may. */
  readonly account?: { readonly uid: number; readonly gid: number };
  /** Leads its own process group, so that a signal to `-pid` acts like Ctrl-C in a terminal. */
  readonly detached?: boolean;
  /** A program, with its arguments, that runs node. */
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
  /** The JSON lines of the log written so far. */
  log(): readonly Record<string, unknown>[];
  /** Resolves once the log has a matching line; fails if the process exits first. */
  logged(test: (line: Record<string, unknown>) => boolean): Promise<Record<string, unknown>>;
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
    logged: (test) =>
      until(
        () => {
          const found = log().find(test);
          if (found === undefined && ended) throw new Error(`the process ended early: ${stderr || stdout}`);
          return found ?? `so far: ${stdout}${stderr}`;
        },
        { what: 'a line of the log' },
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

/** A process that serves on free ports; resolves once it does. */
export async function spawnServer({ args = [], ...options }: ProcessOptions = {}): Promise<ServingProcess> {
  const ports = ['--api-port=0', '--metrics-port=0', '--host=127.0.0.1', '--log-format=json'];
  const process = spawnMillrace({ ...options, args: [...ports, ...args] });
  const line = await process.logged((entry) => entry.msg === 'listening');
  const apiUrl = line.api as string | null;
  return {
    ...process,
    apiUrl,
    metricsUrl: line.metrics as string,
    as: (token) => createClient(apiUrl!, token),
  };
}

/** A zombie is not running. */
export function isRunning(pid: number): boolean {
  try {
    return !readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z ');
  } catch {
    return false;
  }
}

/** The processes that it has started and that still run. */
export function childrenOf(pid: number): readonly number[] {
  try {
    const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8');
    return text.split(' ').filter(Boolean).map(Number).filter(isRunning);
  } catch {
    return [];
  }
}
