import { openApiDocument, redactUrl, UsageError, VERSION } from '@millrace/server';
import { doctor } from './doctor.js';
import { explain } from './failure.js';
import { HELP } from './help.js';
import type { Invocation } from './invocation.js';
import { migrateCommand } from './migrate.js';
import { serve } from './serve.js';

export interface RunOptions {
  readonly argv?: readonly string[];
  readonly env?: NodeJS.ProcessEnv;
  /** npm forwards Ctrl-C to a program that the terminal has already signalled; see signals.ts. */
  readonly underNpm?: boolean;
}

type Command = (invocation: Invocation) => Promise<number>;

const COMMANDS: Readonly<Record<string, Command>> = {
  serve,
  migrate: migrateCommand,
  doctor,
  openapi: async ({ argv, print }) => {
    if (argv.length > 0) throw new UsageError('openapi takes no flags; see --help');
    print(JSON.stringify(await openApiDocument(), null, 2));
    return 0;
  },
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
  return process.exit(await dispatch({ argv, env, underNpm, print, isTTY }));
}

async function dispatch(invocation: Invocation): Promise<number> {
  try {
    const [first = '', ...rest] = invocation.argv;
    const named = first !== '' && !first.startsWith('-');
    const flags = named ? rest : invocation.argv;
    if (flags.includes('--help') || flags.includes('-h') || first === 'help') return say(invocation, HELP);
    if (flags.includes('--version') || flags.includes('-v')) return say(invocation, `millrace ${VERSION}`);
    const name = named ? first : 'serve';
    if (!Object.hasOwn(COMMANDS, name)) throw new UsageError('unknown command; see --help');
    return await COMMANDS[name]!({ ...invocation, argv: flags });
  } catch (error) {
    process.stderr.write(`millrace: ${redactUrl(explain(error))}\n`);
    return error instanceof UsageError ? error.exitCode : 1;
  }
}

function say({ print }: Invocation, text: string): number {
  print(text);
  return 0;
}
