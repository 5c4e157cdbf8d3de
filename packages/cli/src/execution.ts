import type { Io } from './io.js';

/** One call of the program. */
export interface Execution {
  readonly argv: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  readonly io: Io;
  /** npm forwards Ctrl-C to a program that the terminal has already signalled; see server/signals.ts. */
  readonly underNpm?: boolean;
  /** Instead of Ctrl-C. */
  readonly signal?: AbortSignal;
}
