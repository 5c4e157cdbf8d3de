import { number } from './text.js';

/** Plots without a library: rectangles, lines and text, with colours that work on a white and on a dark page. */
export interface BarChart {
  readonly title: string;
  readonly unit: string;
  readonly bars: readonly { readonly label: string; readonly value: number; readonly ours?: boolean }[];
}

export interface LineChart {
  readonly title: string;
  readonly unit: string;
  readonly across: string;
  readonly lines: readonly { readonly label: string; readonly values: readonly number[]; readonly ours?: boolean }[];
}

export const WIDTH = 760;
const LABEL_WIDTH = 290;
const ROW = 28;
export const TOP = 48;
const OURS = '#2563a8';
const OTHERS = '#a8adb4';
const INK = '#1f2328';
export const FAINT = '#6b7280';
const FONT = 'font-family="system-ui, -apple-system, Segoe UI, sans-serif"';

export function barChart({ title, unit, bars }: BarChart): string {
  const most = Math.max(...bars.map((bar) => bar.value));
  const room = WIDTH - LABEL_WIDTH - 110;
  const rows = bars.map(({ label, value, ours }, index) => {
    const y = TOP + index * ROW;
    const width = Math.max(1, (value / most) * room);
    return (
      text(LABEL_WIDTH - 10, y + 15, label, { anchor: 'end', weight: ours ? 600 : 400 }) +
      `<rect x="${LABEL_WIDTH}" y="${y}" width="${round(width)}" height="20" rx="2" fill="${ours ? OURS : OTHERS}"/>` +
      text(LABEL_WIDTH + width + 8, y + 15, `${number(value)} ${unit}`, { fill: FAINT })
    );
  });
  return frame(title, TOP + bars.length * ROW + 12, rows.join('\n'));
}

export function lineChart({ title, unit, across, lines }: LineChart): string {
  const [left, right, top, height] = [70, WIDTH - 30, TOP + 12, 240];
  const bottom = top + height;
  const most = niceCeiling(Math.max(...lines.flatMap((line) => line.values)));
  const y = (value: number): number => round(bottom - (value / most) * height);
  const ticks = [0, 0.25, 0.5, 0.75, 1].map((share) => {
    const at = y(share * most);
    const rule = `<line x1="${left}" x2="${right}" y1="${at}" y2="${at}" stroke="#e5e7eb"/>`;
    return rule + text(left - 8, at + 4, number(share * most), { anchor: 'end', fill: FAINT });
  });
  const drawn = lines.map(({ label, values, ours }, index) => {
    const colour = ours ? OURS : OTHERS;
    const x = (n: number): number => round(left + (n / Math.max(1, values.length - 1)) * (right - left));
    const points = values.map((value, n) => `${x(n)},${y(value)}`).join(' ');
    const legend = left + 10 + index * 230;
    return (
      `<polyline points="${points}" fill="none" stroke="${colour}" stroke-width="2.5"/>` +
      `<rect x="${legend}" y="${bottom + 34}" width="14" height="4" fill="${colour}"/>` +
      text(legend + 20, bottom + 40, label)
    );
  });
  const axis =
    text(right, bottom + 20, across, { anchor: 'end', fill: FAINT }) + text(left, top - 8, unit, { fill: FAINT });
  return frame(title, bottom + 56, [...ticks, ...drawn, axis].join('\n'));
}

export function frame(title: string, height: number, body: string): string {
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" ` +
    `width="${WIDTH}" height="${height}" role="img">\n` +
    `<title>${escape(title)}</title>\n<rect width="${WIDTH}" height="${height}" fill="#ffffff"/>\n` +
    `${text(16, 28, title, { size: 16, weight: 600 })}\n${body}\n</svg>\n`
  );
}

interface Style {
  readonly anchor?: 'start' | 'middle' | 'end';
  readonly fill?: string;
  readonly size?: number;
  readonly weight?: number;
}

export function text(
  x: number,
  y: number,
  content: string,
  { anchor = 'start', fill = INK, size = 13, weight = 400 }: Style = {},
): string {
  return (
    `<text x="${round(x)}" y="${round(y)}" text-anchor="${anchor}" fill="${fill}" font-size="${size}" ` +
    `font-weight="${weight}" ${FONT}>${escape(content)}</text>`
  );
}

const escape = (raw: string): string => raw.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

const round = (value: number): number => Math.round(value * 10) / 10;

/** Rounds up to a number that is easy to read. */
function niceCeiling(value: number): number {
  const unit = 10 ** Math.floor(Math.log10(value)) / 2;
  return Math.ceil(value / unit) * unit;
}
