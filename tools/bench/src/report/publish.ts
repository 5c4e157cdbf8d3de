import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT, type MachineFacts } from '../env/machine.js';
import type { Results } from '../results.js';
import type { Scale } from '../scale.js';
import type { Judged } from './bars.js';
import { plots } from './plots.js';
import { markdown, tables } from './text.js';

/** What a run leaves behind: JSON always, and the tables and plots of the documentation if it is to be published. */
export interface Run {
  readonly machine: MachineFacts;
  readonly postgresSettings: Readonly<Record<string, string>>;
  readonly scale: Scale;
  readonly results: Results;
  readonly judged: readonly Judged[];
  readonly seconds: number;
}

const RESULTS = join(ROOT, 'tools/bench/results');
const DOCUMENT = join(ROOT, 'docs', 'performance.md');
const PLOTS = join(ROOT, 'docs', 'performance');
const BEGIN = '<!-- measured: written by npm run bench, do not edit -->';
const END = '<!-- end of measured -->';

export function toJson(run: Run): string {
  const bars = run.judged.map(({ bar, measured, passed }) => ({
    title: bar.title,
    limit: bar.limit,
    better: bar.better,
    unit: bar.unit,
    ...measured,
    passed,
  }));
  const { machine, postgresSettings, scale, seconds, results } = run;
  return `${JSON.stringify({ machine, postgresSettings, scale, seconds, bars, ...(results.toJSON() as object) }, null, 2)}\n`;
}

/** The files written, for the reader's information. */
export function writeResults(run: Run, publish: boolean): string[] {
  mkdirSync(RESULTS, { recursive: true });
  const json = toJson(run);
  const dated = join(RESULTS, `${run.machine.date.slice(0, 19).replaceAll(':', '-')}-${run.scale.form}.json`);
  writeFileSync(dated, json);
  if (!publish) return [dated];
  const latest = join(RESULTS, 'latest.json');
  writeFileSync(latest, json);
  return [dated, latest, ...writePlots(run), writeDocument(run)];
}

function writePlots({ results, scale }: Run): string[] {
  mkdirSync(PLOTS, { recursive: true });
  return [...plots(results, scale)].map(([file, svg]) => {
    writeFileSync(join(PLOTS, file), svg);
    return join(PLOTS, file);
  });
}

function writeDocument(run: Run): string {
  const text = readFileSync(DOCUMENT, 'utf8');
  const [begin, end] = [text.indexOf(BEGIN), text.indexOf(END)];
  if (begin === -1 || end === -1) throw new Error(`${DOCUMENT} has no place for the measurements`);
  writeFileSync(DOCUMENT, `${text.slice(0, begin + BEGIN.length)}\n\n${measuredPart(run)}\n${text.slice(end)}`);
  return DOCUMENT;
}

function measuredPart({ machine, scale, results, judged }: Run): string {
  const shown = [...plots(results, scale).keys()].map((file) => `![${file.slice(0, -4)}](performance/${file})`);
  const notes = results.notes.map((note) => `- ${note}`);
  return [
    `${origin(machine, scale)}\n`,
    ...tables(results, judged, scale).map(markdown),
    ...(notes.length > 0 ? ['#### Notes', '', ...notes, ''] : []),
    '#### Plots',
    '',
    shown.join('\n\n'),
    '',
  ].join('\n');
}

function origin(machine: MachineFacts, scale: Scale): string {
  const { cores, processor, memoryGiB, system, node, postgres, redis, millrace, commit, peers } = machine;
  const others = Object.entries(peers).map(([name, version]) => `${name} ${version}`);
  const form =
    scale.form === 'full' ? '' : ' It was a short run (`--quick`): it shows that everything works, not how fast.';
  return (
    `Measured on ${machine.date.slice(0, 10)}: ${cores} cores (${processor}), ${memoryGiB} GiB, ${system}, Node ${node}, ` +
    `PostgreSQL ${postgres}${redis === null ? '' : `, Redis ${redis}`}; Millrace ${millrace}${commit === null ? '' : ` (${commit})`}, ` +
    `${others.join(', ')}. Up to ${scale.rounds} rounds; load of the machine before the start: ${machine.loadBefore}.${form}`
  );
}
