import type { Io } from '../terminal/io.js';
import type { CONNECTION, Options, Values } from '../specs/spec.js';

/** The call of a command about a server, its words read. The command sees nothing else of the process. */
export interface Context<O extends Options = Options> {
  readonly options: Values<O>;
  readonly args: readonly string[];
  /** The flags that say where the server is. */
  readonly connection: Values<typeof CONNECTION>;
  readonly env: NodeJS.ProcessEnv;
  readonly io: Io;
  /** Aborts when the user interrupts. */
  readonly signal: AbortSignal;
}

/** Returns the exit code. */
export type Run<O extends Options> = (context: Context<O>) => Promise<number>;
