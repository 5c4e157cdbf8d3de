import { writeFileSync } from 'node:fs';
import { cpus, loadavg, totalmem } from 'node:os';
import { fileURLToPath } from 'node:url';
import type { Finding } from './case.js';
import type { Options } from './options.js';

const DOCUMENT = fileURLToPath(new URL('../../../docs/dashboard-results.md', import.meta.url));

export interface Section {
  readonly title: string;
  readonly findings: readonly Finding[];
}

export interface Run {
  readonly browser: string;
  readonly began: Date;
  readonly ended: Date;
  /** Of the minute before it began: what others did on the machine. */
  readonly loadBefore: number;
}

/** The load of this machine in the last minute. */
export const loadNow = (): number => loadavg()[0] ?? Number.NaN;

/** Minutes and seconds between two instants, to be read: "74 min 5 s". */
export function lasted(began: Date, ended: Date): string {
  const seconds = Math.round((ended.getTime() - began.getTime()) / 1000);
  const minutes = Math.floor(seconds / 60);
  return minutes === 0 ? `${seconds} s` : `${minutes} min ${seconds % 60} s`;
}

/** The results as a document, with what was measured, on what, and when. */
export function asMarkdown(sections: readonly Section[], options: Options, run: Run): string {
  const { browser, began, ended, loadBefore } = run;
  const processors = `${cpus().length} × ${cpus()[0]?.model.trim() ?? 'unknown'}`;
  const machine = `${processors}, ${Math.round(totalmem() / 2 ** 30)} GB, Node.js ${process.versions.node}, ${browser}`;
  const held = options.jobs.toLocaleString('en');
  return [
    '# Dashboard: results',
    'Written by `npm run dashboard -- --publish`; [dashboard.md](dashboard.md#measured) says what it does.',
    `${began.toISOString().slice(0, 10)}. ${machine}.\nBrowser, service and database share the machine.`,
    [
      `The service held ${held} jobs. Times are medians of ${options.rounds}, with their range.`,
      `The run took ${lasted(began, ended)}. Before it, the load average was ${loadBefore.toFixed(1)} on`,
      `${cpus().length} processors: on a machine with other work to do, times are longer.`,
    ].join('\n'),
    ...sections.flatMap(({ title, findings }) => [`## ${title}`, table(findings)]),
    '',
  ].join('\n\n');
}

function table(findings: readonly Finding[]): string {
  const rows = findings.map(
    ({ what, result, aim, ok }) => `| ${what} | ${result} | ${aim ?? '–'} | ${ok ? '✓' : '✗ missed'} |`,
  );
  return ['| what | result | aim | |', '|---|---|---|---|', ...rows].join('\n');
}

export function publish(text: string): void {
  writeFileSync(DOCUMENT, `${text.trimEnd()}\n`);
}
