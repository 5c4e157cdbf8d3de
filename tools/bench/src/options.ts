import { parseArgs } from 'node:util';
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

/** Something to tell the caller instead of running. Asking for help is no mistake. */
export class UsageError extends Error {
  constructor(
    message: string,
    readonly exitCode: 0 | 2 = 2,
  ) {
    super(message);
  }
}

export const USAGE = `npm run bench -- [flags]

  --quick            a short form that ends within two minutes; shows that everything works, proves little
  --only CASE,...    some of: ${CASE_NAMES.join(', ')}
  --rounds N         how often each case is repeated (default ${FULL.rounds}, with --quick ${QUICK.rounds})
  --json             print the results as JSON instead of tables
  --publish          write docs/performance* and tools/bench/results/latest.json, as a full run does by itself
  --no-publish       do not, although this is a full run
`;

/** Tiny counts while developing: as --quick and shorter still. Not in the help text, because the numbers mean nothing at all. */
const TINY_DIVISOR = 20;

const FLAGS = {
  quick: { type: 'boolean', default: false },
  tiny: { type: 'boolean', default: false },
  only: { type: 'string' },
  rounds: { type: 'string' },
  json: { type: 'boolean', default: false },
  publish: { type: 'boolean' },
  'no-publish': { type: 'boolean' },
  help: { type: 'boolean', default: false },
} as const;

export function parseOptions(argv: readonly string[]): Options {
  const values = readFlags(argv);
  if (values.help) throw new UsageError(USAGE, 0);
  const base = values.quick || values.tiny ? QUICK : FULL;
  const rounds = values.rounds === undefined ? base.rounds : readRounds(values.rounds);
  const isWhole = base === FULL && values.only === undefined;
  const scale = { ...(values.tiny ? shrunk(base) : base), rounds, heavyRounds: Math.min(rounds, base.heavyRounds) };
  return {
    scale,
    cases: values.only === undefined ? CASE_NAMES : readCases(values.only),
    json: values.json,
    publish: values.publish ?? (isWhole && values['no-publish'] !== true),
  };
}

function readFlags(argv: readonly string[]) {
  try {
    return parseArgs({ args: [...argv], options: FLAGS }).values;
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

function readRounds(text: string): number {
  if (!/^[1-9]\d?$/.test(text)) throw new UsageError(`--rounds must be a number from 1 to 99, not ${text}`);
  return Number(text);
}

function readCases(text: string): readonly CaseName[] {
  const asked = text.split(',').map((each) => each.trim());
  const unknown = asked.find((each) => !CASE_NAMES.includes(each as CaseName));
  if (unknown !== undefined) throw new UsageError(`there is no case ${unknown}; there are ${CASE_NAMES.join(', ')}`);
  return CASE_NAMES.filter((each) => asked.includes(each));
}

function shrunk(scale: Scale): Scale {
  const shrink = (n: number): number => Math.max(BATCH, Math.ceil(n / TINY_DIVISOR / BATCH) * BATCH);
  const { historySome, historyMany, ...others } = scale.jobs;
  const jobs = Object.entries(others).map(([name, count]) => [name, shrink(count)]);
  return {
    ...scale,
    // A list needs some pages to be deep.
    jobs: { ...(Object.fromEntries(jobs) as typeof others), historySome, historyMany },
    windowMs: 300,
    warmupMs: 100,
    idleSecs: 2,
    pages: 3,
    latencySamples: 20,
  };
}
