import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onExit } from '@millrace/tools-shared';
import { copyBuild } from '../build-copy.js';
import { FAULTS } from '../faults/index.js';
import { runFaults } from '../runner.js';
import { MUTANTS } from './list.js';
import type { Mutant } from './mutant.js';

export interface MutantOutcome {
  readonly name: string;
  /** The violation that gave it away, or null if no row noticed. */
  readonly caughtBy: string | null;
  /** Every violation that the rows reported. */
  readonly said: readonly string[];
  readonly seconds: number;
}

/** Runs the rows that must catch each mutant against it: this shows that the suite can fail. */
export async function runMutants(
  seed: number,
  only: readonly number[] | null,
  onOutcome: (outcome: MutantOutcome) => void,
): Promise<readonly MutantOutcome[]> {
  const outcomes: MutantOutcome[] = [];
  for (const [index, mutant] of MUTANTS.entries()) {
    if (only !== null && !only.includes(index + 1)) continue;
    const outcome = await runMutant(mutant, seed);
    outcomes.push(outcome);
    onOutcome(outcome);
  }
  return outcomes;
}

async function runMutant({ name, patches, rows, sign, times = 1 }: Mutant, seed: number): Promise<MutantOutcome> {
  const startedAt = performance.now();
  const dir = mkdtempSync(join(tmpdir(), 'millrace-mutant-'));
  const remove = (): void => rmSync(dir, { recursive: true, force: true });
  const forget = onExit(remove);
  try {
    const millrace = copyBuild(dir, patches);
    const faults = FAULTS.filter(({ row }) => rows.includes(row)).map((fault) => ({
      ...fault,
      everyday: fault.everyday * times,
    }));
    if (faults.length < rows.length) throw new Error(`the mutant "${name}" names a row that does not exist`);
    const outcomes = await runFaults(faults, { seed, scale: null, millrace, keepFailures: false });
    const signs = outcomes.flatMap(({ row, violations }) =>
      violations.filter((text) => sign.test(text)).map((text) => `row ${row}: ${text}`),
    );
    const said = outcomes.flatMap(({ violations }) => violations);
    return { name, caughtBy: signs[0] ?? null, said, seconds: (performance.now() - startedAt) / 1_000 };
  } finally {
    forget();
    remove();
  }
}
