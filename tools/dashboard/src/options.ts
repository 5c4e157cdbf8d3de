import { readFlags, UsageError, wholeNumber } from '@millrace/tools-shared';

export interface Options {
  /** How many jobs the service holds while its pages are measured. */
  readonly jobs: number;
  /** How many jobs one operation cancels. */
  readonly bulk: number;
  /** How often each page is opened, each time in a browser that has never been used. */
  readonly rounds: number;
  /** How long pages are left open while their heap is watched; 0 leaves that out. */
  readonly minutes: number;
  /** Cases to run; all if empty. */
  readonly only: readonly string[];
  /** Whether docs/dashboard-results.md is written. */
  readonly publish: boolean;
}

const DEFAULTS = { jobs: 1_000_000, bulk: 100_000, rounds: 5, minutes: 60 } as const;
const DAY_MINUTES = 24 * 60;

export const usage = (cases: readonly string[]): string => `npm run dashboard -- [flags]

  --jobs N       how many jobs the service holds (default ${DEFAULTS.jobs})
  --bulk N       how many jobs one operation cancels (default ${DEFAULTS.bulk})
  --rounds N     how often each page is opened (default ${DEFAULTS.rounds})
  --minutes N    how long pages stay open while their heap is watched (default ${DEFAULTS.minutes}; 0: not at all)
  --only LIST    only these cases: ${cases.join(', ')}
  --publish      write the results into docs/dashboard-results.md
`;

const FLAGS = {
  jobs: { type: 'string', default: String(DEFAULTS.jobs) },
  bulk: { type: 'string', default: String(DEFAULTS.bulk) },
  rounds: { type: 'string', default: String(DEFAULTS.rounds) },
  minutes: { type: 'string', default: String(DEFAULTS.minutes) },
  only: { type: 'string', default: '' },
  publish: { type: 'boolean', default: false },
  help: { type: 'boolean', default: false },
} as const;

export function parseOptions(argv: readonly string[], cases: readonly string[]): Options {
  const values = readFlags(argv, FLAGS);
  if (values.help) throw new UsageError(usage(cases), 0);
  const only = values.only.split(',').filter((name) => name !== '');
  const unknown = only.find((name) => !cases.includes(name));
  if (unknown !== undefined) throw new UsageError(`there is no case ${unknown}: ${cases.join(', ')}`);
  return {
    jobs: wholeNumber('jobs', values.jobs, 10_000_000, 1000),
    bulk: wholeNumber('bulk', values.bulk, 1_000_000, 1000),
    rounds: wholeNumber('rounds', values.rounds, 100, 1),
    minutes: wholeNumber('minutes', values.minutes, DAY_MINUTES),
    only,
    publish: values.publish,
  };
}
