import { writeFileSync } from 'node:fs';
import { readArguments, USAGE, type Arguments } from './arguments.js';
import { FAULTS } from './faults/index.js';
import { asText, remarks } from './report.js';
import { runFaults } from './runner.js';
import { exitOnSignals } from './stage/exit.js';

/** `npm run chaos`: ends with 0 only if nothing was violated. */
const print = (text: string): void => void process.stdout.write(`${text}\n`);

async function main({ seed, only, scale, json }: Arguments): Promise<number> {
  print(`seed ${seed}`);
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
  if (json !== null) writeFileSync(json, `${JSON.stringify({ seed, scale, outcomes }, null, 2)}\n`);
  const violated = outcomes.filter(({ violations }) => violations.length > 0).length;
  print(
    violated === 0
      ? `nothing was violated (seed ${seed})`
      : `${violated} rows were violated; run again with --seed ${seed}`,
  );
  return violated === 0 ? 0 : 1;
}

exitOnSignals();
try {
  process.exitCode = await main(readArguments(process.argv.slice(2)));
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n\n${USAGE}\n`);
  process.exitCode = 2;
}
