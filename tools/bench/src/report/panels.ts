import { FAINT, frame, text, TOP, WIDTH } from './svg.js';
import { number } from './text.js';

/** Several small line charts side by side, with the same lines and the same scale in each. */
export interface PanelChart {
  readonly title: string;
  /** The points along each line. */
  readonly across: readonly string[];
  readonly panels: readonly { readonly title: string; readonly lines: readonly (readonly number[])[] }[];
  /** What each line is. */
  readonly legend: readonly string[];
}

const COLOURS = ['#2563a8', '#d97706', '#15803d', '#b91c1c', '#7c3aed', '#6b7280'];
const LEFT = 46;
const GAP = 18;
const HEIGHT = 180;
const LEAST_CEILING = 2.5;
const LEGEND_COLUMNS = 3;

export function panelChart({ title, across, panels, legend }: PanelChart): string {
  const top = TOP + 24;
  const bottom = top + HEIGHT;
  const width = (WIDTH - LEFT - GAP) / panels.length - GAP;
  const ceiling = Math.max(LEAST_CEILING, Math.ceil(Math.max(...panels.flatMap(({ lines }) => lines.flat()))));
  const y = (value: number): number => Math.round(bottom - (value / ceiling) * HEIGHT);
  const ticks = [0, 0.5, 1, 1.5, 2, 2.5].filter((tick) => tick <= ceiling);
  const drawn = panels.map((panel, index) => {
    const left = LEFT + index * (width + GAP);
    const x = (n: number): number => Math.round(left + 8 + (n / Math.max(1, across.length - 1)) * (width - 16));
    const rules = ticks.map(
      (tick) => `<line x1="${left}" x2="${left + width}" y1="${y(tick)}" y2="${y(tick)}" stroke="#e5e7eb"/>`,
    );
    const lines = panel.lines.map((values, line) => {
      const points = values.map((value, n) => `${x(n)},${y(value)}`).join(' ');
      return `<polyline points="${points}" fill="none" stroke="${colour(line)}" stroke-width="2"/>`;
    });
    const names = across.map((name, n) =>
      text(x(n), bottom + 16, name, { anchor: anchorAt(n, across.length), fill: FAINT, size: 11 }),
    );
    return [...rules, ...lines, ...names, text(left, top - 10, panel.title, { weight: 600, size: 12 })].join('\n');
  });
  const scale = ticks.map((tick) =>
    text(LEFT - 6, y(tick) + 4, number(tick), { anchor: 'end', fill: FAINT, size: 11 }),
  );
  const rows = Math.ceil(legend.length / LEGEND_COLUMNS);
  return frame(title, bottom + 44 + rows * 20, [...scale, ...drawn, ...legendOf(legend, bottom + 44)].join('\n'));
}

const colour = (line: number): string => COLOURS[line % COLOURS.length] ?? FAINT;

function anchorAt(n: number, of: number): 'start' | 'middle' | 'end' {
  if (n === 0) return 'start';
  return n === of - 1 ? 'end' : 'middle';
}

function legendOf(legend: readonly string[], top: number): string[] {
  return legend.map((label, line) => {
    const x = LEFT + (line % LEGEND_COLUMNS) * 235;
    const y = top + Math.floor(line / LEGEND_COLUMNS) * 20;
    return `<rect x="${x}" y="${y - 6}" width="14" height="4" fill="${colour(line)}"/>` + text(x + 20, y, label);
  });
}
