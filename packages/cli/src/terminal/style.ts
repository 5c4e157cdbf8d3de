import type { Io } from './io.js';

export type Colour = 'red' | 'green' | 'yellow' | 'blue' | 'dim' | 'bold';
export type Paint = (colour: Colour, text: string) => string;

const CODES: Readonly<Record<Colour, readonly [number, number]>> = {
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  blue: [34, 39],
  dim: [2, 22],
  bold: [1, 22],
};

/** Paints on a terminal, unless NO_COLOR is set (https://no-color.org) or the terminal cannot. */
export function painter(io: Io, env: NodeJS.ProcessEnv): Paint {
  const coloured = io.terminal.stdout && !env.NO_COLOR && env.TERM !== 'dumb';
  return (colour, text) => (coloured ? `\u{1b}[${CODES[colour][0]}m${text}\u{1b}[${CODES[colour][1]}m` : text);
}

const STATUS: Readonly<Record<string, Colour>> = {
  completed: 'green',
  failed: 'red',
  lease_expired: 'red',
  timed_out: 'red',
  partially_failed: 'red',
  running: 'blue',
  retrying: 'yellow',
  stopped: 'yellow',
  cancelled: 'dim',
  skipped: 'dim',
};

export const statusColour = (status: string): Colour | undefined => STATUS[status];
