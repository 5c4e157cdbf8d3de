import { plain } from '../terminal/plain.js';
import { cut, shortId, widthOf } from '../terminal/width.js';
import { statusColour, type Paint } from '../terminal/style.js';

export interface Column<T> {
  readonly title: string;
  readonly cell: (row: T) => string | number | null | undefined;
  /** An id may be shortened, and text cut, where the terminal is too narrow. The colour of a state depends on it. */
  readonly kind?: 'id' | 'text' | 'state' | 'number';
}

const GAP = '  ';
const LEAST_TEXT = 8;

/**
 * Rows under their titles. In a pipe everything is written out; on a terminal that is too narrow, ids are shortened
 * first, then texts are cut. No titles for no rows.
 */
export function table<T>(
  columns: readonly Column<T>[],
  rows: readonly T[],
  { columns: width, paint }: { columns: number; paint: Paint },
): string {
  let cells = rows.map((row) => columns.map((column) => plain(String(column.cell(row) ?? '-'))));
  const widths = (): number[] =>
    columns.map(({ title }, index) => Math.max(widthOf(title), ...cells.map((row) => widthOf(row[index] ?? ''))));
  const total = (): number => widths().reduce((sum, each) => sum + each + GAP.length, -GAP.length);
  if (total() > width) {
    cells = cells.map((row) => row.map((text, index) => (columns[index]?.kind === 'id' ? shortId(text) : text)));
  }
  for (let index = columns.length - 1; index >= 0 && total() > width; index--) {
    if (columns[index]?.kind !== 'text') continue;
    const room = Math.max(LEAST_TEXT, (widths()[index] ?? 0) - (total() - width));
    cells = cells.map((row) => row.map((text, at) => (at === index ? cut(text, room) : text)));
  }
  const final = widths();
  const line = (texts: readonly string[], decorate: (text: string, index: number) => string): string =>
    texts
      .map((text, index) => {
        const space = ' '.repeat(Math.max(0, (final[index] ?? 0) - widthOf(text)));
        const painted = decorate(text, index);
        return columns[index]?.kind === 'number' ? space + painted : painted + space;
      })
      .join(GAP)
      .trimEnd();
  const head = line(
    columns.map(({ title }) => title),
    (text) => paint('bold', text),
  );
  const body = cells.map((row) =>
    line(row, (text, index) => {
      const colour = columns[index]?.kind === 'state' ? statusColour(text) : undefined;
      return colour === undefined ? text : paint(colour, text);
    }),
  );
  return [head, ...body].join('\n');
}

/** Names and values below each other. Values that are missing are left out. */
export function fields(
  pairs: readonly (readonly [string, string | number | null | undefined])[],
  paint: Paint,
): string {
  const shown = pairs.filter(([, value]) => value !== null && value !== undefined && value !== '');
  const width = Math.max(...shown.map(([name]) => name.length));
  return shown
    .map(([name, value]) => {
      const text = plain(String(value));
      const colour = name === 'status' || name === 'outcome' ? statusColour(text) : undefined;
      return `${paint('bold', name.padEnd(width))}${GAP}${colour === undefined ? text : paint(colour, text)}`;
    })
    .join('\n');
}
