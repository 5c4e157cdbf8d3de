import type { ReactNode } from 'react';

/** A circle as a path. */
const ring = (x: number, y: number, r: number): string =>
  `M${x - r} ${y}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0`;

const CLOCK = `${ring(8, 8, 5.75)}M8 5v3.2l2 1.3`;
const AGAIN = 'M3 8.2a5 5 0 1 0 1.7-3.9L3 5.8M3 2.6v3.2h3.2';
const MOON = 'M13.2 9.6A5.6 5.6 0 0 1 6.4 2.8a5.6 5.6 0 1 0 6.8 6.8z';

/**
 * The one set of icons: lines on a grid of 16, drawn in the colour of the text beside them. An icon never stands for a
 * word that is nowhere written.
 */
const PATHS = {
  // Pages
  overview: 'M2.3 11.5a6 6 0 1 1 11.4 0M8 9.8l2.6-3.4M2.3 13.5h11.4',
  jobs: 'M6 4h7.7M6 8h7.7M6 12h7.7M2.6 4h.01M2.6 8h.01M2.6 12h.01',
  workflows:
    `${ring(3.8, 4, 1.6)}${ring(3.8, 12, 1.6)}${ring(12.2, 8, 1.6)}` +
    'M5.4 4.4c3 .5 2.4 3 5.2 3.5M5.4 11.6c3-.5 2.4-3 5.2-3.5',
  deadLetters: 'M2 4h12v8.5H2zM2.4 4.5 8 9l5.6-4.5',
  queues: 'M8 2.2 14 5.4 8 8.6 2 5.4zM2 8.2l6 3.2 6-3.2M2 11l6 3.2 6-3.2',
  cron: CLOCK,
  waiting: 'M2.2 3h11.6v8H8.4L5 13.8V11H2.2zM5.4 7h.01M8 7h.01M10.6 7h.01',
  workers:
    'M4.2 4.2h7.6v7.6H4.2zM6.4 1.8v2.4M9.6 1.8v2.4M6.4 11.8v2.4M9.6 11.8v2.4' +
    'M1.8 6.4h2.4M1.8 9.6h2.4M11.8 6.4h2.4M11.8 9.6h2.4',
  operations: `M2 4.6h5.6M11.4 4.6H14M2 11.4h2.6M8.4 11.4H14${ring(9.5, 4.6, 1.8)}${ring(6.5, 11.4, 1.8)}`,
  tenants: 'M2.8 13.8V2.6h6v11.2M8.8 6.4h4.4v7.4M1.4 13.8h13.2M5.2 5.4h1.2M5.2 8h1.2M5.2 10.6h1.2M11 9h.01M11 11.4h.01',
  audit: 'M3.2 2h6.4l3.2 3.2V14H3.2zM9.4 2v3.4h3.4M5.6 8.2h4.8M5.6 10.8h4.8',
  // States
  circle: ring(8, 8, 5),
  clock: CLOCK,
  play: 'M5 3.2v9.6L12.6 8z',
  again: AGAIN,
  check: 'M3 8.6l3.4 3.2L13 4.6',
  cross: 'M4 4l8 8M12 4l-8 8',
  half: `${ring(8, 8, 5.5)}M8 2.5v11M8 5.5l4.4-1M8 8h5.4M8 10.5l4.4 1`,
  none: `${ring(8, 8, 5.5)}M4.2 11.8l7.6-7.6`,
  skip: 'M3 4l5 4-5 4zM8.4 4l5 4-5 4z',
  moon: MOON,
  back: 'M6.2 3.6 2.6 7.2l3.6 3.6M2.8 7.2h7a3 3 0 0 1 0 6H8',
  square: 'M4 4h8v8H4z',
  pause: 'M5.6 3.4v9.2M10.4 3.4v9.2',
  // What can be done, and marks
  search: `${ring(7, 7, 4.6)}M10.4 10.4 14 14`,
  close: 'M4 4l8 8M12 4l-8 8',
  plus: 'M8 3v10M3 8h10',
  minus: 'M3 8h10',
  down: 'M3.6 6l4.4 4.4L12.4 6',
  left: 'M10 3.6 5.6 8l4.4 4.4',
  right: 'M6 3.6 10.4 8 6 12.4',
  first: 'M4 3.6v8.8M12 3.6 7.6 8l4.4 4.4',
  dot: ring(8, 8, 4),
  arrowUp: 'M8 13V3.4M4 7.2l4-4 4 4',
  arrowDown: 'M8 3v9.6M4 8.8l4 4 4-4',
  alert: 'M8 2.2 14.4 13.4H1.6zM8 6.4v3.4M8 11.6h.01',
  eye: `M1.4 8S3.8 3.6 8 3.6 14.6 8 14.6 8 12.2 12.4 8 12.4 1.4 8 1.4 8z${ring(8, 8, 1.9)}`,
  aside: 'M3.4 3.4h9.2M8 6v7.4M4.8 10.2 8 13.4l3.2-3.2',
  external: 'M9.4 2.6h4v4M13.2 2.8 7.4 8.6M6.6 3.6H2.8v9.6h9.6V9.4',
  columns: 'M2.4 3h11.2v10H2.4zM6.2 3v10M9.8 3v10',
  bookmark: 'M4.2 2.2h7.6v11.6L8 10.8l-3.8 3z',
  filter: 'M2 3.2h12l-4.6 5.4v4.6l-2.8-1.6V8.6z',
  key: `${ring(5.2, 10.8, 2.6)}M7 9l6.4-6.4M10.6 5.4l2 2`,
  signOut: 'M6.4 2.6H2.8v10.8h3.6M10 4.8 13.2 8 10 11.2M13 8H6.2',
  fit: 'M2.6 6V2.6H6M10 2.6h3.4V6M13.4 10v3.4H10M6 13.4H2.6V10',
  path: `${ring(3.4, 12.6, 1.4)}${ring(12.6, 3.4, 1.4)}M4.8 12.6h5a2.3 2.3 0 0 0 0-4.6H6.2a2.3 2.3 0 0 1 0-4.6h5`,
  compare: 'M5.4 2.6v10.8M10.6 2.6v10.8M5.4 5H2M5.4 8.4H2.8M10.6 7H14M10.6 10.4h2.6',
} as const;

export type IconName = keyof typeof PATHS;

/** Those that are areas. */
const SOLID: ReadonlySet<IconName> = new Set(['play', 'square', 'skip', 'moon', 'dot']);

interface IconProps {
  readonly name: IconName;
  readonly size?: number;
}

const classOf = (name: IconName): string => (SOLID.has(name) ? 'icon solid' : 'icon');

/** An icon. What it means is said by the words beside it, or by the label of its button. */
export const Icon = ({ name, size = 16 }: IconProps): ReactNode => (
  <svg className={classOf(name)} viewBox="0 0 16 16" width={size} height={size} aria-hidden="true" focusable="false">
    <path d={PATHS[name]} />
  </svg>
);

interface DrawnIconProps extends IconProps {
  readonly x: number;
  readonly y: number;
}

/** The same within a drawing, with its upper left corner there: one element instead of two, of a thousand. */
export const DrawnIcon = ({ name, size = 16, x, y }: DrawnIconProps): ReactNode => (
  <path className={classOf(name)} transform={`translate(${x} ${y}) scale(${size / 16})`} d={PATHS[name]} />
);
