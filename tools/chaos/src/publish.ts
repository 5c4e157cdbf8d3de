import { readFileSync, writeFileSync } from 'node:fs';
import { cpus, totalmem } from 'node:os';
import { fileURLToPath } from 'node:url';
import type { Outcome } from './fault.js';
import { asMarkdown } from './report.js';

const DOCUMENT = fileURLToPath(new URL('../../../docs/reliability.md', import.meta.url));
const [BEGIN, END] = ['<!-- outcome -->', '<!-- end of outcome -->'];

export interface Publication {
  readonly seed: number;
  readonly scale: number | null;
  readonly outcomes: readonly Outcome[];
}

/** Puts the outcome into docs/reliability.md, between its marks. */
export function publish(publication: Publication): void {
  writeFileSync(DOCUMENT, withOutcome(readFileSync(DOCUMENT, 'utf8'), describe(publication)));
}

export function withOutcome(document: string, outcome: string): string {
  const [begin, end] = [document.indexOf(BEGIN), document.indexOf(END)];
  if (begin < 0 || end < begin) throw new Error(`docs/reliability.md has no ${BEGIN} ... ${END}`);
  return `${document.slice(0, begin + BEGIN.length)}\n${outcome}\n${document.slice(end)}`;
}

function describe({ seed, scale, outcomes }: Publication): string {
  const date = new Date().toISOString().slice(0, 10);
  const size = scale === null ? 'everyday counts' : `${scale} of the full counts`;
  const machine = `${cpus().length} × ${cpus()[0]?.model.trim() ?? 'unknown'}, ${Math.round(totalmem() / 2 ** 30)} GB, Node.js ${process.versions.node}`;
  const notRun = outcomes.flatMap(({ row, notRun }) =>
    notRun === null ? [] : [`\nRow ${row} was not run: ${notRun}`],
  );
  return [`${date}, ${machine}. ${size}, seed ${seed}.\n`, asMarkdown(outcomes), ...notRun].join('\n');
}
