import { parseArgs, type ParseArgsConfig } from 'node:util';

/** A message for the caller instead of a run. Asking for help is one too, but no mistake. */
export class UsageError extends Error {
  constructor(
    message: string,
    readonly exitCode: 0 | 2 = 2,
  ) {
    super(message);
  }
}

type FlagOptions = NonNullable<ParseArgsConfig['options']>;
type Flags<T extends FlagOptions> = ReturnType<typeof parseArgs<{ args: string[]; options: T }>>['values'];

/** The values of the flags. An unknown flag, or a value that is missing, is a usage error. */
export function readFlags<T extends FlagOptions>(argv: readonly string[], options: T): Flags<T> {
  try {
    return parseArgs({ args: [...argv], options }).values;
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

export function wholeNumber(flag: string, text: string, maximum: number, minimum = 0): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && value >= minimum && value <= maximum) return value;
  throw new UsageError(`--${flag} must be a whole number from ${minimum} to ${maximum}, not ${text}`);
}

export const say = (text: string): void => void process.stderr.write(`${text}\n`);

/** Runs a tool: a usage error is printed as its message, any other error with its stack. Resolves to the exit code. */
export async function runMain(main: () => Promise<number>): Promise<number> {
  try {
    return await main();
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    say(error.message);
    return error.exitCode;
  }
}
