import { parseArgs } from 'node:util';
import { DEFAULTS } from './kit.js';
import { GROUPS, type Group } from './scenario.js';

export interface Options {
  readonly command: readonly string[];
  readonly only?: readonly number[];
  readonly skip?: readonly number[];
  readonly without?: readonly Group[];
  readonly json: boolean;
  readonly plain: boolean;
  /** A server that runs already; one is started if there is none. */
  readonly url?: string;
  /** The program that starts the server. */
  readonly server?: string;
  readonly concurrency: number;
  readonly leaseSecs: number;
  readonly sideBySide: number;
}

/** What to print instead of a run, and the exit code that goes with it. */
export class Usage extends Error {
  constructor(
    message: string,
    readonly exitCode: 0 | 2 = 2,
  ) {
    super(message);
  }
}

export const HELP = `Checks a Millrace worker from the outside.

  millrace-conformance [options] -- COMMAND [ARGUMENT...]

Starts a development server behind a proxy that records and breaks calls, starts COMMAND for every scenario, and
prints a table. COMMAND reads MILLRACE_URL, MILLRACE_WORKER_TOKEN, MILLRACE_QUEUE, MILLRACE_CONCURRENCY,
MILLRACE_LEASE_SECS and MILLRACE_SHUTDOWN_SECS, and serves the conf.* tasks (docs/conformance.md).

  --only 3,10        only these scenarios
  --skip 24,26       not these
  --without durable  not these groups, which a worker may decline
  --plain            hide the routes that older servers do not know: gathered calls, release, whoami
  --json             print the results as JSON
  --server FILE      the server's program, instead of the one installed beside this package
  --url URL          a server that runs already, with --dev and --mode api
  --concurrency N    jobs that the worker runs at a time (${DEFAULTS.concurrency})
  --lease-secs N     the lease (${DEFAULTS.leaseSecs}); a longer one forgives a slower machine
  --side-by-side N   scenarios that run at once (${DEFAULTS.sideBySide})
  --help             this text

Exit code: 0 if all passed, 1 if not, 2 after a usage error.`;

export function readOptions(argv: readonly string[]): Options {
  const { values, positionals } = parse(argv);
  if (values.help === true) throw new Usage(HELP, 0);
  if (positionals.length === 0) throw new Usage('no command to check; --help shows how to name it');
  return {
    command: positionals,
    json: values.json === true,
    plain: values.plain === true,
    concurrency: count('concurrency', values.concurrency, DEFAULTS.concurrency),
    leaseSecs: count('lease-secs', values['lease-secs'], DEFAULTS.leaseSecs),
    sideBySide: count('side-by-side', values['side-by-side'], DEFAULTS.sideBySide),
    ...(values.only !== undefined && { only: numbers('only', values.only) }),
    ...(values.skip !== undefined && { skip: numbers('skip', values.skip) }),
    ...(values.without !== undefined && { without: groups(values.without) }),
    ...(values.url !== undefined && { url: values.url.replace(/\/+$/, '') }),
    ...(values.server !== undefined && { server: values.server }),
  };
}

const text = { type: 'string' } as const;
const flag = { type: 'boolean' } as const;
const FLAGS = {
  only: text,
  skip: text,
  without: text,
  url: text,
  server: text,
  concurrency: text,
  'lease-secs': text,
  'side-by-side': text,
  json: flag,
  plain: flag,
  help: flag,
} as const;

function parse(argv: readonly string[]) {
  // Everything after the first `--` belongs to the command, whatever it looks like.
  const end = argv.indexOf('--');
  const own = end < 0 ? argv : argv.slice(0, end);
  try {
    const { values } = parseArgs({ args: [...own], options: FLAGS });
    return { values, positionals: end < 0 ? [] : argv.slice(end + 1) };
  } catch (error) {
    throw new Usage(error instanceof Error ? error.message : String(error));
  }
}

function numbers(name: string, value: string): number[] {
  if (!/^\d+(,\d+)*$/.test(value)) throw new Usage(`--${name} takes numbers with commas between them, not ${value}`);
  return value.split(',').map(Number);
}

function groups(value: string): Group[] {
  return value.split(',').map((name) => {
    const group = GROUPS.find((known) => known === name);
    if (group === undefined) throw new Usage(`--without takes groups (${GROUPS.join(', ')}), not ${name}`);
    return group;
  });
}

function count(name: string, value: string | undefined, otherwise: number): number {
  if (value === undefined) return otherwise;
  if (!/^[1-9]\d{0,2}$/.test(value)) throw new Usage(`--${name} takes a number from 1 to 999, not ${value}`);
  return Number(value);
}
