import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { isUnavailable } from '../domain/errors.js';
import { HeldOperation, KEEP_MS, type OperationWork } from '../engine/operations/operation-work.js';
import type { Maintenance } from '../engine/jobs/maintenance.js';
import { createLoop, type Loop } from './loop.js';

/**
 * Works on bulk operations: those that were created in this process, at once, and those whose process is gone, which it
 * looks for every ten seconds. However many it holds, it does one batch at a time, of each in turn, and then rests for
 * as long as that took: so other work keeps at least half of what a batch takes.
 */
const LOOK_MS = 10_000;
const MAX_REST_MS = 5_000;
/** After a batch that failed because the database was away. */
const AWAY_MS = 1_000;
/** An operation whose batches fail this often in a row, although the database answers, can't go on. */
const MAX_FAILURES = 5;

/** Old operations are removed once an hour, by one process; this is how many looks there are in an hour. */
const LOOKS_PER_HOUR = 3_600_000 / LOOK_MS;
const HOUR_SECS = 3_500;
/** How long ended operations are kept where nothing else is ever removed. */
const DEFAULT_KEPT_HOURS = 30 * 24;

export function createOperationsLoop(
  work: OperationWork,
  maintenance: Maintenance,
  retentionHours: number | null,
  logger: Logger,
): Loop {
  const runner = new Runner(work, logger);
  let looks = 0;
  const loop = createLoop(
    'operations',
    LOOK_MS,
    async () => {
      const adopted = await work.adopt();
      if (adopted.length > 0)
        logger.info({ operations: adopted.length }, 'took over operations that no process was working on');
      for (const id of adopted) runner.take(id);
      if (looks++ % LOOKS_PER_HOUR === 0 && (await maintenance.takeTurn('operations', HOUR_SECS)))
        await work.forget(retentionHours ?? DEFAULT_KEPT_HOURS);
    },
    logger,
  );
  return {
    ...loop,
    start: () => {
      work.onStarted((id) => runner.take(id));
      loop.start();
    },
    stop: async () => {
      await loop.stop();
      await runner.stop();
    },
  };
}

interface Held {
  readonly operation: HeldOperation;
  /** How many of its batches in a row. */
  failures: number;
}

class Runner {
  readonly #held = new Map<string, Held>();
  readonly #stopping = new AbortController();
  #working: Promise<void> | null = null;

  constructor(
    private readonly work: OperationWork,
    private readonly logger: Logger,
  ) {}

  take(id: string): void {
    if (this.#stopping.signal.aborted || this.#held.has(id)) return;
    this.#held.set(id, { operation: new HeldOperation(id), failures: 0 });
    this.#working ??= this.#run().finally(() => (this.#working = null));
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    if (this.#working === null) return;
    await this.#working;
    // If this fails, the others wait until it is no longer held.
    await this.work.release().catch(() => undefined);
  }

  async #run(): Promise<void> {
    const keep = (): void => void this.work.keep([...this.#held.keys()]).catch(() => undefined);
    const keeping = setInterval(keep, KEEP_MS);
    try {
      for (const [id, held] of turns(this.#held)) {
        if (this.#stopping.signal.aborted) return;
        await this.#rest(await this.#turn(id, held));
      }
    } finally {
      clearInterval(keeping);
    }
  }

  /** One batch. Returns how long to rest. */
  async #turn(id: string, held: Held): Promise<number> {
    const startedAt = performance.now();
    try {
      const goesOn = await this.work.step(held.operation);
      held.failures = 0;
      if (!goesOn) this.#held.delete(id);
      return performance.now() - startedAt;
    } catch (error) {
      await this.#failed(id, held, error);
      return AWAY_MS;
    }
  }

  async #failed(id: string, held: Held, error: unknown): Promise<void> {
    const isAway = isUnavailable(error);
    if (!isAway) held.failures++;
    const isLast = held.failures >= MAX_FAILURES;
    this.logger[isAway ? 'debug' : isLast ? 'error' : 'warn'](
      { err: error, operation: id },
      isLast ? 'an operation failed' : 'a batch of an operation failed; it will be repeated',
    );
    if (!isLast) return;
    const isNoted = await this.work.fail(id).then(
      () => true,
      () => false,
    );
    if (isNoted) this.#held.delete(id);
  }

  async #rest(ms: number): Promise<void> {
    const { signal } = this.#stopping;
    await sleep(Math.min(ms, MAX_REST_MS), undefined, { signal }).catch(() => undefined);
  }
}

/** What is in the map, one after the other and over again, until it is empty. */
function* turns<Key, Value>(map: ReadonlyMap<Key, Value>): Generator<[Key, Value]> {
  while (map.size > 0) yield* map;
}
