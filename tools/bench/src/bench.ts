import { startChild, type Child, type Methods } from './env/child.js';
import type { BenchDatabase, Postgres } from './env/postgres.js';
import type { Redis } from './env/redis.js';
import type { River } from './env/river.js';
import type { LoadMethods } from './load/process.js';
import type { Results } from './results.js';
import type { Scale } from './scale.js';
import { startMillrace, type Server } from './servers/command-line.js';

/** What a case works with. */
export interface Bench {
  readonly postgres: Postgres;
  readonly redis: Redis | null;
  readonly river: River | null;
  readonly scale: Scale;
  readonly results: Results;
}

export interface PreparedCase {
  /** One round: every contender once. */
  round(): Promise<void>;
  close?(): Promise<void>;
}

/** A case is prepared once, run for each round, and closed. */
export type Case = (bench: Bench) => Promise<PreparedCase>;

/** What a case opens here is closed in reverse order when the scope ends, however it ends. */
export class Scope {
  readonly #closers: (() => Promise<void>)[] = [];

  constructor(readonly bench: Bench) {}

  async database(kind: 'millrace' | 'empty'): Promise<BenchDatabase> {
    const { postgres } = this.bench;
    const database = await (kind === 'millrace' ? postgres.millraceDatabase() : postgres.emptyDatabase());
    this.#closers.push(() => database.drop());
    return database;
  }

  child<M extends Methods>(script: string): Child<M> {
    const child = startChild<M>(script);
    this.#closers.push(() => child.stop());
    return child;
  }

  load(): Child<LoadMethods> {
    return this.child<LoadMethods>('load/process.js');
  }

  async millrace(database: Pick<BenchDatabase, 'url'>, mode: 'all' | 'api', processes = 1): Promise<Server> {
    const server = await startMillrace(database.url, mode, processes);
    let stopped: Promise<void> | undefined;
    const stop = (): Promise<void> => (stopped ??= server.stop());
    this.#closers.push(stop);
    return { ...server, stop };
  }

  onClose(close: () => Promise<void>): void {
    this.#closers.push(close);
  }

  async close(): Promise<void> {
    for (const close of this.#closers.splice(0).reverse()) await close();
  }
}

export async function scoped<T>(bench: Bench, work: (scope: Scope) => Promise<T>): Promise<T> {
  const scope = new Scope(bench);
  try {
    return await work(scope);
  } finally {
    await scope.close();
  }
}

/** A case with nothing to prepare. */
export const perRound =
  (round: (scope: Scope) => Promise<void>): Case =>
  async (bench) => ({ round: () => scoped(bench, round) });
