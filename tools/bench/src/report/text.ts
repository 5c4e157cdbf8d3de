import type { CaseName } from '../cases/names.js';
import type { Measured, Results } from '../results.js';
import type { Scale } from '../scale.js';
import type { Judged } from './bars.js';
import { groups } from './metrics.js';

/** The results as tables, for a terminal and for a document. */
export interface Table {
  readonly title: string;
  readonly head: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

/** Those of the cases that `isShown` names. */
export function tables(
  results: Results,
  judged: readonly Judged[],
  scale: Scale,
  isShown: (name: CaseName) => boolean = () => true,
): Table[] {
  const shown = groups(scale).filter((group) => isShown(group.of));
  const measured = shown.map(({ title, metrics }) => ({
    title,
    head: ['', 'median', 'spread', 'unit'],
    rows: metrics.flatMap(({ name, title, unit }) => {
      const found = results.of(name);
      return found === null ? [] : [[title, number(found.median), spread(found), unit]];
    }),
  }));
  return [bars(judged.filter(({ bar }) => isShown(bar.of))), ...measured].filter(({ rows }) => rows.length > 0);
}

function bars(judged: readonly Judged[]): Table {
  return {
    title: 'Bars',
    head: ['bar', 'limit', 'measured', 'spread', ''],
    rows: judged.map(({ bar, measured, passed }) => [
      bar.title,
      `${bar.better === 'more' ? '≥' : '≤'} ${number(bar.limit)} ${bar.unit}`,
      number(measured.median),
      spread(measured),
      passed ? 'pass' : 'FAIL',
    ]),
  };
}

const spread = ({ min, max, values }: Measured): string => (values.length > 1 ? `${number(min)} – ${number(max)}` : '');

/** Three significant digits. */
export function number(value: number): string {
  if (!Number.isFinite(value)) return '?';
  if (value === 0) return '0';
  const magnitude = Math.abs(value);
  if (magnitude >= 1_000) return Number(value.toPrecision(3)).toLocaleString('en-GB');
  return magnitude >= 100 ? value.toFixed(0) : magnitude >= 10 ? value.toFixed(1) : value.toFixed(2);
}

export function plainText({ title, head, rows }: Table): string {
  const all = [head, ...rows];
  const widths = head.map((_, column) => Math.max(...all.map((row) => row[column]?.length ?? 0)));
  const line = (row: readonly string[]): string =>
    row
      .map((cell, column) => (column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0)))
      .join('  ');
  return [title, '-'.repeat(title.length), ...all.map((row) => line(row).trimEnd()), ''].join('\n');
}

export function markdown({ title, head, rows }: Table): string {
  const line = (row: readonly string[]): string => `| ${row.join(' | ')} |`;
  const rule = head.map((_, column) => (column === 0 ? '---' : '--:'));
  return [`#### ${title}`, '', line(head), line(rule), ...rows.map(line), ''].join('\n');
}
