import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { replaceBetween, type Marks } from '@millrace/tools-shared';
import { ROOT, type MachineFacts } from '../env/machine.js';
import type { CaseName } from '../cases/names.js';
import type { Results } from '../results.js';
import type { Scale } from '../scale.js';
import type { Judged } from './bars.js';
import { plots } from './plots.js';
import { markdown, tables } from './text.js';

/** What a run produces: JSON always, and the tables and plots of the documentation if it is published. */
export interface Run {
  readonly machine: MachineFacts;
  readonly postgresSettings: Readonly<Record<string, string>>;
  readonly scale: Scale;
  readonly cases: readonly CaseName[];
  readonly results: Results;
  readonly judged: readonly Judged[];
  readonly seconds: number;
}

const RESULTS = join(ROOT, 'tools/bench/results');
const DOCUMENT = join(ROOT, 'docs', 'performance.md');
const PLOTS = join(ROOT, 'docs', 'performance');

/** A part of the document that is written as a whole. A run writes those parts whose cases it has run. */
interface Part {
  readonly name: string;
  readonly holds: (name: CaseName) => boolean;
}

/** What the API is asked for: creating singly, working remotely, reading. */
const CALLS: readonly CaseName[] = ['single', 'processes', 'remote', 'insight'];
const marksOf = ({ name }: Part): Marks => ({
  begin: `<!-- ${name}: written by npm run bench, do not edit -->`,
  end: `<!-- end of ${name} -->`,
});

/** A whole run takes long. Each part can be run alone, and then leaves the results of the others as they are. */
const PARTS: readonly Part[] = [
  { name: 'measured', holds: (name) => name !== 'growth' && !CALLS.includes(name) },
  { name: 'calls', holds: (name) => CALLS.includes(name) },
  { name: 'growth', holds: (name) => name === 'growth' },
];

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
  const all = { machine, postgresSettings, scale, seconds, bars, ...(results.toJSON() as object) };
  return `${JSON.stringify(all, null, 2)}\n`;
}

/** Returns the paths of the files written. */
export function writeResults(run: Run, publish: boolean): string[] {
  mkdirSync(RESULTS, { recursive: true });
  const json = toJson(run);
  const dated = join(RESULTS, `${run.machine.date.slice(0, 19).replaceAll(':', '-')}-${run.scale.form}.json`);
  writeFileSync(dated, json);
  if (!publish) return [dated];
  const alone = PARTS.find(({ holds }) => run.cases.every(holds));
  const latest = join(RESULTS, `${alone?.name ?? 'latest'}.json`);
  writeFileSync(latest, json);
  return [dated, latest, ...writePlots(run), writeDocument(run)];
}

function writePlots({ results, scale }: Run): string[] {
  mkdirSync(PLOTS, { recursive: true });
  return plots(results, scale).map(({ file, svg }) => {
    writeFileSync(join(PLOTS, file), svg);
    return join(PLOTS, file);
  });
}

function writeDocument(run: Run): string {
  const parts = PARTS.filter(({ holds }) => run.cases.some(holds));
  const written = parts.reduce(
    (text, part) => replaceBetween(text, marksOf(part), `\n${measuredPart(run, part)}`),
    readFileSync(DOCUMENT, 'utf8'),
  );
  writeFileSync(DOCUMENT, written);
  return DOCUMENT;
}

function measuredPart({ machine, scale, results, judged }: Run, { holds }: Part): string {
  const drawn = plots(results, scale).filter((plot) => holds(plot.of));
  const shown = drawn.map(({ file }) => `![${file.slice(0, -4)}](performance/${file})`);
  const notes = results.notes.map((note) => `- ${note}`);
  return [
    `${origin(machine, scale)}\n`,
    ...tables(results, judged, scale, holds).map(markdown),
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
    scale.form === 'full'
      ? ''
      : ' This was a short run (`--quick`): it shows that everything works, not how fast it is.';
  return (
    `Measured on ${machine.date.slice(0, 10)}: ${cores} cores (${processor}), ${memoryGiB} GiB, ${system}, ` +
    `Node ${node}, PostgreSQL ${postgres}${redis === null ? '' : `, Redis ${redis}`}; ` +
    `Millrace ${millrace}${commit === null ? '' : ` (${commit})`}, ${others.join(', ')}. ` +
    `Up to ${scale.rounds} rounds; load of the machine before the start: ${machine.loadBefore}.${form}`
  );
}
