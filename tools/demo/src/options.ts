import { readFlags, UsageError, wholeNumber } from '@millrace/tools-shared';

export interface Options {
  /** The server to fill, or null: look for a development server on this machine, and start one if there is none. */
  readonly url: string | null;
  readonly token: string;
  readonly workerToken: string;
  /** Jobs created per minute, over all tenants. */
  readonly rate: number;
  /** Completed jobs to create before anything else. */
  readonly fill: number;
  readonly seed: number;
  readonly port: number;
}

const DEFAULT_RATE = 240;
const DEFAULT_PORT = 8000;
const MAX_RATE = 60_000;
const MAX_FILL = 100_000_000;
const MAX_SEED = 0xffff_ffff;
const MAX_PORT = 65_535;

export const USAGE = `npm run demo -- [flags]

Fills a server with jobs, workflows and schedules of several tenants, works on them, and goes on until Ctrl-C.

  --port N            the development server to fill (default ${DEFAULT_PORT}); started if nothing answers there
  --url URL           fill this server instead, as one tenant
  --token TOKEN       with --url: the tenant's key
  --worker-token T    with --url: the token of the workers (default: that of --token, which --dev accepts)
  --rate N            jobs per minute (default ${DEFAULT_RATE})
  --fill N            create this many small jobs first, as fast as the server takes them
  --seed N            repeat a run (default: drawn)
`;

const FLAGS = {
  port: { type: 'string', default: String(DEFAULT_PORT) },
  url: { type: 'string' },
  token: { type: 'string', default: 'demo' },
  'worker-token': { type: 'string' },
  rate: { type: 'string', default: String(DEFAULT_RATE) },
  fill: { type: 'string', default: '0' },
  seed: { type: 'string' },
  help: { type: 'boolean', default: false },
} as const;

export function parseOptions(argv: readonly string[], drawn: number): Options {
  const values = readFlags(argv, FLAGS);
  if (values.help) throw new UsageError(USAGE, 0);
  return {
    url: values.url ?? null,
    token: values.token,
    workerToken: values['worker-token'] ?? values.token,
    rate: wholeNumber('rate', values.rate, MAX_RATE, 1),
    fill: wholeNumber('fill', values.fill, MAX_FILL),
    seed: values.seed === undefined ? drawn : wholeNumber('seed', values.seed, MAX_SEED),
    port: wholeNumber('port', values.port, MAX_PORT, 1),
  };
}
