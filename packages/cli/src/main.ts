import type { Invocation } from './invocation.js';
import { VERSION } from './version.js';

export interface RunOptions {
  readonly argv?: readonly string[];
  readonly env?: NodeJS.ProcessEnv;
  /** npm forwards Ctrl-C to a program that the terminal has already signalled; see signals.ts. */
  readonly underNpm?: boolean;
}

type Command = (invocation: Invocation) => Promise<number>;

/** Loaded only when called: the server and its dependencies take longer to load than most commands take to run. */
const COMMANDS: Readonly<Record<string, () => Promise<Command>>> = {
  serve: async () => (await import('./serve.js')).serve,
  dev: async () => (await import('./serve.js')).dev,
  migrate: async () => (await import('./migrate.js')).migrateCommand,
  doctor: async () => (await import('./doctor.js')).doctor,
  openapi: async () => (await import('./openapi.js')).openApi,
};

/** Runs a command and exits the process with its exit code. */
export async function run({
  argv = process.argv.slice(2),
  env = process.env,
  underNpm = false,
}: RunOptions = {}): Promise<never> {
  // A reader such as `head` may stop early; that is not a failure.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1));
  const print = (text: string): void => void process.stdout.write(`${text}\n`);
  const isTTY = process.stdout.isTTY;
  const code = await dispatch({ argv, env, underNpm, print, isTTY });
  await flushed(process.stdout);
  await flushed(process.stderr);
  return process.exit(code);
}

/** Exiting drops what a pipe has not taken yet. Writes are in order: the end of an empty one is the end of all. */
const flushed = (stream: NodeJS.WriteStream): Promise<void> =>
  new Promise((resolve) => stream.write('', () => resolve()));

async function dispatch(invocation: Invocation): Promise<number> {
  const [first = '', ...rest] = invocation.argv;
  const named = first !== '' && !first.startsWith('-');
  const flags = named ? rest : invocation.argv;
  if (flags.includes('--help') || flags.includes('-h') || first === 'help') {
    invocation.print((await import('./help.js')).HELP);
    return 0;
  }
  if (flags.includes('--version') || flags.includes('-v')) {
    invocation.print(`millrace ${VERSION}`);
    return 0;
  }
  const load = COMMANDS[named ? first : 'serve'];
  if (load === undefined || (named && !Object.hasOwn(COMMANDS, first))) {
    process.stderr.write('millrace: unknown command; see --help\n');
    return USAGE;
  }
  try {
    const command = await load();
    return await command({ ...invocation, argv: flags });
  } catch (error) {
    const { explain, exitCodeOf } = await import('./failure.js');
    process.stderr.write(`millrace: ${explain(error)}\n`);
    return exitCodeOf(error);
  }
}

/** The exit code of a call that makes no sense. */
const USAGE = 2;
