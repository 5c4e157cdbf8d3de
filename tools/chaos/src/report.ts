import type { Outcome } from './fault.js';

const HEAD = ['#', 'fault', 'count', 'jobs', 'violations', 'seconds'] as const;

/** The table for docs/reliability.md. */
export function asMarkdown(outcomes: readonly Outcome[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  return [line(HEAD), '|---|---|---|---|---|---|', ...outcomes.map((outcome) => line(cellsOf(outcome)))].join('\n');
}

/** The table for a terminal. */
export function asText(outcomes: readonly Outcome[]): string {
  const rows = [HEAD, ...outcomes.map(cellsOf)];
  const widths = HEAD.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows
    .map((row) =>
      row
        .map((cell, column) => pad(cell, widths[column] ?? 0, column))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

const pad = (cell: string, width: number, column: number): string =>
  column === 1 ? cell.padEnd(width) : cell.padStart(width);

function cellsOf({ row, name, unit, count, jobs, violations, seconds, notRun }: Outcome): readonly string[] {
  if (notRun !== null) return [String(row), name, 'not run', '', '', ''];
  const cells = [
    `${count.toLocaleString('en')} ${unit}`,
    jobs.toLocaleString('en'),
    String(violations.length),
    seconds.toFixed(1),
  ];
  return [String(row), name, ...cells];
}

/** One line per note, per violation and per row that was not run. */
export function remarks(outcomes: readonly Outcome[]): readonly string[] {
  const MOST = 10;
  return outcomes.flatMap(({ row, violations, notes, notRun }) => [
    ...notes.map((note) => `row ${row}: ${note}`),
    ...(notRun === null ? [] : [`row ${row} was not run: ${notRun}`]),
    ...violations.slice(0, MOST).map((violation) => `row ${row}: ${violation}`),
    ...(violations.length > MOST ? [`row ${row}: and ${violations.length - MOST} more`] : []),
  ]);
}
