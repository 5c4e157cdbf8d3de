import { parseArgs } from 'node:util';

export interface Options {
  readonly seed: number;
  readonly from: number;
  readonly count: number;
  readonly json: boolean;
  readonly slow: boolean;
  /** Where failing requests are written as bytes, or null. */
  readonly save: string | null;
}

/** Something to tell the caller instead of running. Asking for help is no mistake. */
export class UsageError extends Error {
  constructor(
    message: string,
    readonly exitCode: 0 | 2 = 2,
  ) {
    super(message);
  }
}

const DEFAULT_COUNT = 50_000;
const MAX_SEED = 0xffff_ffff;

export const USAGE = `npm run fuzz -- [flags]

  --seed N       repeat a run; without it a seed is drawn, and printed
  --count N      how many requests (default ${DEFAULT_COUNT})
  --from N       begin with request number N (default 0); with --count 1 it is that one alone
  --no-slow      leave out the slow clients, whose end takes five minutes
  --save DIR     write each failing request there, byte for byte
  --json         print the result as JSON
`;

const FLAGS = {
  seed: { type: 'string' },
  count: { type: 'string', default: String(DEFAULT_COUNT) },
  from: { type: 'string', default: '0' },
  'no-slow': { type: 'boolean', default: false },
  save: { type: 'string' },
  json: { type: 'boolean', default: false },
  help: { type: 'boolean', default: false },
} as const;

export function parseOptions(argv: readonly string[], drawn: number): Options {
  const values = readFlags(argv);
  if (values.help) throw new UsageError(USAGE, 0);
  return {
    seed: values.seed === undefined ? drawn : wholeNumber('seed', values.seed, MAX_SEED),
    from: wholeNumber('from', values.from, Number.MAX_SAFE_INTEGER),
    count: wholeNumber('count', values.count, Number.MAX_SAFE_INTEGER),
    json: values.json,
    slow: !values['no-slow'],
    save: values.save ?? null,
  };
}

function readFlags(argv: readonly string[]) {
  try {
    return parseArgs({ args: [...argv], options: FLAGS }).values;
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

function wholeNumber(flag: string, text: string, maximum: number): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || value > maximum) throw new UsageError(`--${flag} must be a whole number up to ${maximum}`);
  return value;
}
