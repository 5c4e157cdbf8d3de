import { writeFileSync } from 'node:fs';
import { readArguments, USAGE, type Arguments } from './arguments.js';
import { FAULTS } from './faults/index.js';
import { runMutants } from './mutants/run.js';
import { publish } from './publish.js';
import { asText, remarks } from './report.js';
import { runFaults } from './runner.js';
import { exitOnSignals } from './stage/exit.js';

/** `npm run chaos`: ends with 0 only if nothing was violated. */
const print = (text: string): void => void process.stdout.write(`${text}\n`);

async function main({ seed, only, scale, json, publish: publishes }: Arguments): Promise<number> {
  const faults = FAULTS.filter(({ row }) => only?.includes(row) ?? true);
  if (faults.length === 0) throw new Error('no such row');
  const outcomes = await runFaults(faults, {
    seed,
    scale,
    onOutcome: ({ row, name, violations, seconds, notRun }) => {
      const word = notRun !== null ? 'not run' : violations.length === 0 ? 'held' : `${violations.length} VIOLATIONS`;
      print(`row ${String(row).padStart(2)}  ${word}  ${name} (${seconds.toFixed(1)} s)`);
    },
  });
  print(`\n${asText(outcomes)}\n`);
  for (const remark of remarks(outcomes)) print(remark);
  if (publishes) publish({ seed, scale, outcomes });
  if (json !== null) writeFileSync(json, `${JSON.stringify({ seed, scale, outcomes }, null, 2)}\n`);
  const violated = outcomes.filter(({ violations }) => violations.length > 0).length;
  print(
    violated === 0
      ? `nothing was violated (seed ${seed})`
      : `${violated} rows were violated; run again with --seed ${seed}`,
  );
  return violated === 0 ? 0 : 1;
}

/** Ends with 0 only if every mutant was caught. */
async function tryMutants({ seed, only }: Arguments): Promise<number> {
  const outcomes = await runMutants(seed, only, ({ name, caughtBy, said, seconds }) => {
    print(`${caughtBy === null ? 'ESCAPED' : 'caught '}  ${name} (${seconds.toFixed(1)} s)`);
    for (const line of caughtBy === null ? said : [caughtBy]) print(`         ${line}`);
  });
  const escaped = outcomes.filter(({ caughtBy }) => caughtBy === null).length;
  print(
    escaped === 0 ? `all ${outcomes.length} mutants were caught` : `${escaped} of ${outcomes.length} mutants escaped`,
  );
  return escaped === 0 ? 0 : 1;
}

/** A mistake in the arguments gets the usage, anything else its stack. */
async function run(): Promise<number> {
  let args: Arguments;
  try {
    args = readArguments(process.argv.slice(2));
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n\n${USAGE}\n`);
    return 2;
  }
  print(`seed ${args.seed}`);
  return args.mutants ? tryMutants(args) : main(args);
}

exitOnSignals();
// Not by itself: a row that was given up may still be waiting for something.
process.exit(await run());
