import { readFlags, UsageError, wholeNumber } from '@millrace/tools-shared';
import { CASE_NAMES, type CaseName } from './cases/names.js';
import { FULL, QUICK, type Scale } from './scale.js';
import { BATCH } from './work.js';

export interface Options {
  readonly scale: Scale;
  readonly cases: readonly CaseName[];
  readonly json: boolean;
  /** Whether the results replace those in docs/ and tools/bench/results/latest.json. */
  readonly publish: boolean;
}

export const USAGE = `npm run bench -- [flags]

  --quick            a short run of a few minutes; shows that everything works, proves little
  --only CASE,...    only some of: ${CASE_NAMES.join(', ')}
  --rounds N         how often to repeat each case (default ${FULL.rounds}, with --quick ${QUICK.rounds})
  --growth PERCENT   how far the case growth goes, in percent of its full sizes (default 100); with --quick the
                     sizes are smaller by themselves
  --json             print the results as JSON instead of tables
  --publish          write docs/performance* and tools/bench/results/latest.json; the default for a full run
  --no-publish       do not write them after a full run
`;

/**
 * Tiny counts for development, even shorter than --quick. Not in the help text, because the numbers mean nothing at
 * all.
 */
const TINY_DIVISOR = 20;
const MAX_ROUNDS = 99;

const FLAGS = {
  quick: { type: 'boolean', default: false },
  tiny: { type: 'boolean', default: false },
  only: { type: 'string' },
  rounds: { type: 'string' },
  growth: { type: 'string' },
  json: { type: 'boolean', default: false },
  publish: { type: 'boolean' },
  'no-publish': { type: 'boolean' },
  help: { type: 'boolean', default: false },
} as const;

export function parseOptions(argv: readonly string[]): Options {
  const values = readFlags(argv, FLAGS);
  if (values.help) throw new UsageError(USAGE, 0);
  const base = values.quick || values.tiny ? QUICK : FULL;
  const rounds = values.rounds === undefined ? base.rounds : wholeNumber('rounds', values.rounds, MAX_ROUNDS, 1);
  const isWhole = base === FULL && values.only === undefined;
  const percent = values.growth === undefined ? 100 : wholeNumber('growth', values.growth, 100, 1);
  const sized = grownTo(values.tiny ? shrunk(base) : base, percent);
  const scale = { ...sized, rounds, heavyRounds: Math.min(rounds, base.heavyRounds) };
  return {
    scale,
    cases: values.only === undefined ? CASE_NAMES : readCases(values.only),
    json: values.json,
    publish: values.publish ?? (isWhole && values['no-publish'] !== true),
  };
}

function readCases(text: string): readonly CaseName[] {
  const asked = text.split(',').map((name) => name.trim());
  const unknown = asked.find((name) => !CASE_NAMES.includes(name as CaseName));
  if (unknown !== undefined) throw new UsageError(`there is no case ${unknown}; there are ${CASE_NAMES.join(', ')}`);
  return CASE_NAMES.filter((name) => asked.includes(name));
}

function grownTo(scale: Scale, percent: number): Scale {
  const { many, ...rest } = scale.growth;
  const sizes = Object.entries(many).map(([axis, size]) => [axis, Math.max(1, Math.round((size * percent) / 100))]);
  return { ...scale, growth: { ...rest, many: Object.fromEntries(sizes) as typeof many } };
}

function shrunk(scale: Scale): Scale {
  const shrink = (n: number): number => Math.max(BATCH, Math.ceil(n / TINY_DIVISOR / BATCH) * BATCH);
  const { historySome, historyMany, ...others } = scale.jobs;
  const jobs = Object.entries(others).map(([name, count]) => [name, shrink(count)]);
  return {
    ...scale,
    // A list needs enough pages to be deep.
    jobs: { ...(Object.fromEntries(jobs) as typeof others), historySome, historyMany },
    windowMs: 300,
    warmupMs: 100,
    idleSecs: 2,
    pages: 3,
    latencySamples: 20,
  };
}
