import type { Invocation } from './invocation/invocation.js';
import type { Command } from './dispatch/registry.js';
import { VERSION } from './version.js';

export interface RunOptions {
  readonly argv?: readonly string[];
  readonly env?: NodeJS.ProcessEnv;
  /** npm forwards Ctrl-C to a program that the terminal has already signalled; see server/signals.ts. */
  readonly underNpm?: boolean;
}

/** Runs a command and exits the process with its exit code. */
export async function run({
  argv = process.argv.slice(2),
  env = process.env,
  underNpm = false,
}: RunOptions = {}): Promise<never> {
  // A reader such as `head` may stop early; that is not a failure.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1));
  const { processIo } = await import('./terminal/io.js');
  const io = processIo();
  const code = await execute({ argv, env, underNpm, io });
  await flushed(process.stdout);
  await flushed(process.stderr);
  return process.exit(code);
}

/** Exiting drops what a pipe has not taken yet. Writes are in order: the end of an empty one is the end of all. */
const flushed = (stream: NodeJS.WriteStream): Promise<void> =>
  new Promise((resolve) => stream.write('', () => resolve()));

/** Runs a command and returns its exit code. Loads as little as it takes: `--version` needs none of the commands. */
export async function execute({ argv, env, io, underNpm = false, signal }: Invocation): Promise<number> {
  if (argv[0] === '--version' || argv[0] === '-v') {
    await io.print(`millrace ${VERSION}`);
    return 0;
  }
  if (argv[0] === '__complete') {
    const found = (await import('./dispatch/complete.js')).completions(argv.slice(1), env);
    if (found.length > 0) await io.print(found.join('\n'));
    return 0;
  }
  const { EXIT, Misuse } = await import('./invocation/exit.js');
  try {
    const help = await helpOf(argv, env);
    if (help !== null) {
      await io.print(help);
      return EXIT.ok;
    }
    // Flags alone are those of the server, as they have always been.
    const words = argv[0] === undefined || argv[0].startsWith('-') ? ['serve', ...argv] : argv;
    const { COMMANDS } = await import('./dispatch/registry.js');
    const { lookUp } = await import('./dispatch/lookup.js');
    const found = lookUp(COMMANDS, words);
    if (found === null) {
      io.complain(`${(await import('./dispatch/help.js')).groupHelp(words[0] ?? '')}\n`);
      return EXIT.usage;
    }
    return await runCommand(found.command, { argv: found.rest, env, io, underNpm, ...(signal && { signal }) });
  } catch (error) {
    if (isMissingServer(error)) {
      io.complain('millrace: the server is not installed here; npm install @millrace/server brings it\n');
      return EXIT.failed;
    }
    if (!(error instanceof Misuse)) throw error;
    io.complain(`millrace: ${error.message}\n`);
    return EXIT.usage;
  }
}

/** With one of these set, the program alone is a server: containers are started so. */
const SERVER_VARIABLES = ['DATABASE_URL', 'MILLRACE_DEV'] as const;

/** The help that was asked for: `--help` anywhere before `--`, or `help` as the first word. */
async function helpOf(argv: readonly string[], env: NodeJS.ProcessEnv): Promise<string | null> {
  if (argv.length === 0 && !SERVER_VARIABLES.some((name) => env[name]))
    return (await import('./dispatch/help.js')).firstSteps();
  const end = argv.indexOf('--');
  const words = end < 0 ? argv : argv.slice(0, end);
  const asked = words[0] === 'help' || words.includes('--help') || words.includes('-h');
  if (!asked) return null;
  const { helpFor } = await import('./dispatch/help.js');
  const rest = words[0] === 'help' ? words.slice(1) : words;
  const options = rest.findIndex((word) => word.startsWith('-'));
  return helpFor(rest.slice(0, options < 0 ? 2 : Math.min(options, 2)));
}

async function runCommand(command: Command, invocation: Invocation): Promise<number> {
  if ('load' in command) return (await import('./dispatch/run-client.js')).runClient(command, invocation);
  try {
    const serve = await command.serve();
    return await serve(invocation);
  } catch (error) {
    const { Misuse } = await import('./invocation/exit.js');
    if (isMissingServer(error) || error instanceof Misuse) throw error;
    const { explain, exitCodeOf } = await import('./server/failure.js');
    invocation.io.complain(`millrace: ${explain(error)}\n`);
    return exitCodeOf(error);
  }
}

/** It is an optional dependency: the commands about a server do without it. */
const isMissingServer = (error: unknown): boolean =>
  error instanceof Error &&
  'code' in error &&
  error.code === 'ERR_MODULE_NOT_FOUND' &&
  error.message.includes("'@millrace/server'");
