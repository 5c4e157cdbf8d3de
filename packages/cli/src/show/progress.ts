import type { Io } from '../terminal/io.js';
import { plainLines } from '../terminal/plain.js';
import { cut } from '../terminal/width.js';

/** One line on a terminal's standard error that is written over and over; nothing anywhere else. */
export class ProgressLine {
  readonly #io: Io;
  #shown = false;

  constructor(io: Io) {
    this.#io = io;
  }

  get visible(): boolean {
    return this.#io.terminal.stderr;
  }

  update(text: string): void {
    if (!this.visible) return;
    this.#io.complain(`\r\u{1b}[2K${cut(plainLines(text).join(' '), this.#io.terminal.columns() - 1)}`);
    this.#shown = true;
  }

  clear(): void {
    if (this.#shown) this.#io.complain('\r\u{1b}[2K');
    this.#shown = false;
  }
}

const BAR = 10;

/** `#######---  70 %` */
export function bar(part: number, whole: number): string {
  const share = whole <= 0 ? 1 : Math.min(1, Math.max(0, part / whole));
  const full = Math.floor(share * BAR);
  return `${'#'.repeat(full)}${'-'.repeat(BAR - full)}  ${Math.floor(share * 100)} %`;
}

/**
 * What a job says of itself, as a bar if it says so: `done` of `total`, or `percent`, by the names that handlers
 * commonly use. Anything else is shown as it is.
 */
export function jobProgress(progress: Readonly<Record<string, unknown>> | null | undefined): string {
  if (progress === null || progress === undefined) return '';
  const { done, total, percent } = progress;
  if (typeof percent === 'number') return bar(percent, 100);
  if (typeof done === 'number' && typeof total === 'number') return `${bar(done, total)}  ${done}/${total}`;
  return JSON.stringify(progress);
}
