import type { Io } from '../terminal/io.js';

/** One call of the program, as it came: words, environment, streams. Commands that are a server read it themselves. */
export interface Invocation {
  readonly argv: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  readonly io: Io;
  /** npm forwards Ctrl-C to a program that the terminal has already signalled; see server/signals.ts. */
  readonly underNpm?: boolean;
  /** Instead of Ctrl-C. */
  readonly signal?: AbortSignal;
}
