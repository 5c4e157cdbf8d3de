import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { execute } from '../../src/main.js';

export interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface CallOptions {
  readonly stdin?: string;
  /** Which of the streams are a terminal of that width. */
  readonly terminal?: { readonly stdin?: boolean; readonly stdout?: boolean; readonly stderr?: boolean };
  readonly columns?: number;
  readonly env?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
  /** Called with every text that is written. */
  readonly onOutput?: (text: string) => void;
}

export interface Cli {
  (argv: readonly string[], options?: CallOptions): Promise<Outcome>;
  readonly home: string;
}

/**
 * Calls the program in this process. A process of its own takes most of a second to load the server, so only what
 * depends on the process (its streams, its signals) starts one.
 */
export async function callMillrace(argv: readonly string[], options: CallOptions = {}): Promise<Outcome> {
  const { stdin = '', terminal = {}, columns = 80, env = {}, signal, onOutput } = options;
  let [stdout, stderr] = ['', ''];
  const code = await execute({
    argv,
    env,
    io: {
      print: async (text) => {
        stdout += `${text}\n`;
        onOutput?.(text);
      },
      complain: (text) => {
        stderr += text;
        onOutput?.(text);
      },
      read: async function* () {
        yield stdin;
      },
      terminal: {
        stdin: terminal.stdin ?? false,
        stdout: terminal.stdout ?? false,
        stderr: terminal.stderr ?? false,
        columns: () => columns,
      },
    },
    signal: signal ?? new AbortController().signal,
  });
  return { code, stdout, stderr };
}

/** The same as a user with a home of his own. */
export function cliAt(url: string, token: string): Cli {
  const home = mkdtempSync(join(tmpdir(), 'millrace-home-'));
  const call = ({ env, ...options }: CallOptions): CallOptions => ({
    ...options,
    env: { HOME: home, MILLRACE_URL: url, MILLRACE_TOKEN: token, ...env },
  });
  return Object.assign((argv: readonly string[], options: CallOptions = {}) => callMillrace(argv, call(options)), {
    home,
  });
}

/** The same for one test; its home is removed afterwards. */
export function newCli(url: string, token: string): Cli {
  const cli = cliAt(url, token);
  onTestFinished(() => rmSync(cli.home, { recursive: true, force: true }));
  return cli;
}

/** The cells of a table that was written into a pipe. */
export function rowsOf(text: string): Record<string, string>[] {
  const [head = '', ...lines] = text.trimEnd().split('\n');
  const titles = [...head.matchAll(/\S+(?: \S+)*/g)].map(([title]) => title);
  return lines.map((line) => {
    const cells = line.trim().split(/ {2,}/);
    return Object.fromEntries(titles.map((title, index) => [title, cells[index] ?? '']));
  });
}
