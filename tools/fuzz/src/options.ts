import { readFlags, UsageError, wholeNumber } from '@millrace/tools-shared';

export interface Options {
  readonly seed: number;
  readonly from: number;
  readonly count: number;
  readonly json: boolean;
  readonly slow: boolean;
  /** Instead of the rules: what each class of requests takes of the server's memory. */
  readonly memory: boolean;
  /** The directory to write failing requests to, or null. */
  readonly save: string | null;
}

const DEFAULT_COUNT = 50_000;
const MAX_SEED = 0xffff_ffff;

export const USAGE = `npm run fuzz -- [flags]

  --seed N       repeat a run (default: a seed is drawn and printed)
  --count N      how many requests to send (default ${DEFAULT_COUNT})
  --from N       start with request number N (default 0); with --count 1, send only that request
  --no-slow      leave out the slow clients, which take five minutes to be cut off
  --memory       instead, send the classes of requests one after the other and report the memory that each takes
  --save DIR     write each failing request to this directory, byte for byte
  --json         print the result as JSON
`;

const FLAGS = {
  seed: { type: 'string' },
  count: { type: 'string', default: String(DEFAULT_COUNT) },
  from: { type: 'string', default: '0' },
  'no-slow': { type: 'boolean', default: false },
  memory: { type: 'boolean', default: false },
  save: { type: 'string' },
  json: { type: 'boolean', default: false },
  help: { type: 'boolean', default: false },
} as const;

export function parseOptions(argv: readonly string[], drawn: number): Options {
  const values = readFlags(argv, FLAGS);
  if (values.help) throw new UsageError(USAGE, 0);
  return {
    seed: values.seed === undefined ? drawn : wholeNumber('seed', values.seed, MAX_SEED),
    from: wholeNumber('from', values.from, Number.MAX_SAFE_INTEGER),
    count: wholeNumber('count', values.count, Number.MAX_SAFE_INTEGER),
    json: values.json,
    slow: !values['no-slow'],
    memory: values.memory,
    save: values.save ?? null,
  };
}
