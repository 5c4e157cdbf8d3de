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

/** The results as a document, with what was measured, on what, and when. */
export function asMarkdown(sections: readonly Section[], options: Options, browser: string, date: Date): string {
  const processors = `${cpus().length} × ${cpus()[0]?.model.trim() ?? 'unknown'}`;
  const machine = `${processors}, ${Math.round(totalmem() / 2 ** 30)} GB, Node.js ${process.versions.node}, ${browser}`;
  const held = options.jobs.toLocaleString('en');
  const load = loadavg()[1]?.toFixed(1) ?? 'unknown';
  return [
    '# Dashboard: results',
    'Written by `npm run dashboard -- --publish`; [dashboard.md](dashboard.md#measured) says what it does.',
    `${date.toISOString().slice(0, 10)}. ${machine}.\nBrowser, service and database share the machine.`,
    [
      `The service held ${held} jobs. Times are medians of ${options.rounds}, with their range.`,
      `At the end the load average was ${load} on ${cpus().length} processors; work beyond`,
      'the number of processors waits for one, and times are longer for it.',
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
