import { writeFileSync } from 'node:fs';
import { exitOnSignals, runMain, UsageError } from '@millrace/tools-shared';
import { readArguments, type Arguments } from './arguments.js';
import { FAULTS } from './faults/index.js';
import { runMutants } from './mutants/run.js';
import { publish } from './publish.js';
import { asText, remarks } from './report.js';
import { runFaults } from './runner.js';

const print = (text: string): void => void process.stdout.write(`${text}\n`);

/** `npm run chaos`: exits with 0 only if nothing was violated. */
async function tryFaults(chosen: Arguments): Promise<number> {
  const { seed, only, except, scale, short, json, publish: publishes } = chosen;
  const faults = FAULTS.filter(({ row, rare }) => !except.includes(row) && (only?.includes(row) ?? !(rare && short)));
  if (faults.length === 0) throw new UsageError('there is no such row');
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
      : `${violated} of ${outcomes.length} rows were violated; repeat the run with --seed ${seed}`,
  );
  return violated === 0 ? 0 : 1;
}

/** Exits with 0 only if every mutant was caught. */
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

async function main(): Promise<number> {
  const args = readArguments(process.argv.slice(2));
  print(`seed ${args.seed}`);
  return args.mutants ? tryMutants(args) : tryFaults(args);
}

exitOnSignals();
// Exits explicitly: a row that was given up may still be waiting for something.
process.exit(await runMain(main));
