import { readFileSync, writeFileSync } from 'node:fs';
import { cpus, totalmem } from 'node:os';
import { fileURLToPath } from 'node:url';
import { replaceBetween } from '@millrace/tools-shared';
import type { Outcome } from './fault.js';
import { asMarkdown } from './report.js';

const DOCUMENT = fileURLToPath(new URL('../../../docs/reliability.md', import.meta.url));
const MARKS = { begin: '<!-- outcome -->', end: '<!-- end of outcome -->' };

export interface Publication {
  readonly seed: number;
  readonly scale: number | null;
  readonly outcomes: readonly Outcome[];
}

/** Writes the outcome into docs/reliability.md, between its marks. */
export function publish(publication: Publication): void {
  writeFileSync(DOCUMENT, replaceBetween(readFileSync(DOCUMENT, 'utf8'), MARKS, describe(publication)));
}

function describe({ seed, scale, outcomes }: Publication): string {
  const date = new Date().toISOString().slice(0, 10);
  const size = scale === null ? 'everyday counts' : `${scale} of the full counts`;
  const processors = `${cpus().length} × ${cpus()[0]?.model.trim() ?? 'unknown'}`;
  const machine = `${processors}, ${Math.round(totalmem() / 2 ** 30)} GB, Node.js ${process.versions.node}`;
  const notRun = outcomes.flatMap(({ row, notRun }) =>
    notRun === null ? [] : [`\nRow ${row} was not run: ${notRun}`],
  );
  return [`${date}, ${machine}. ${size}, seed ${seed}.\n`, asMarkdown(outcomes), ...notRun].join('\n');
}
