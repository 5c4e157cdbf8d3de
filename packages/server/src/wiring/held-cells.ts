import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { readCellList, type CellAddress } from '../config/cell-list.js';
import { UsageError } from '../config/config.js';
import { rangeText } from '../domain/cells.js';
import { isUnavailable, unavailable } from '../domain/errors.js';
import { listProblem, nameOfPlace, rangesHeld, type Held, type ListProblem } from '../domain/held-ranges.js';
import { heldBy } from '../store/handover/held.js';
import { SchemaError } from '../store/migrations/migrate.js';
import { named, OTHERS_MS, PATIENCE_MS, RETRY_MS } from './open-database.js';

/**
 * Looks at what every database holds before anything is done with one of them, and waits for those that do not answer
 * yet. Nothing is written.
 */
export interface Looking {
  readonly logger: Logger;
  /** As a start does; a command looks once. */
  readonly waits: boolean;
}

/** The databases of a service, in the order of their list. */
export interface FoundCells {
  readonly cells: readonly CellAddress[];
  /** Those that did not answer: they have been waited for. */
  readonly silent: ReadonlySet<CellAddress>;
}

/** How long a first start that goes on elsewhere may take from the first range it writes to the last. */
const FIRST_START_MS = 2_000;

/**
 * The databases of several --database-url, with what they hold.
 *
 * @throws UsageError if they are not one service
 */
export async function heldCells(urls: readonly string[], { logger, waits }: Looking): Promise<FoundCells> {
  const places = urls.map((url, n) => ({ ...PLAIN, name: nameOfPlace(n), url }));
  const look = new Look(places);
  for (;;) {
    const held = await look.again();
    const ranges = rangesHeld(held);
    const isOver = !waits || look.isComplete || look.tookMs > (typeof ranges === 'string' ? PATIENCE_MS : OTHERS_MS);
    if (isOver && look.isSilent) throw unavailable('no database of --database-url answers');
    if (isOver && typeof ranges === 'string') throw new UsageError(`--database-url names no whole service: ${ranges}`);
    if (isOver && typeof ranges !== 'string') {
      const cells = places.map((place, n) => ({ ...place, range: ranges[n]! }));
      logger.info({ cells: cells.map(({ name, range }) => `${name} ${rangeText(range)}`) }, 'several databases');
      return found(cells, held);
    }
    await sleep(RETRY_MS);
  }
}

const PLAIN = { pooler: 'none', directUrl: null } as const;

/**
 * The databases of a list.
 *
 * @throws SchemaError if they are not the service that it describes
 */
export async function listedCells(file: string, { logger, waits }: Looking): Promise<FoundCells> {
  const list = readCellList(file);
  const look = new Look(list);
  for (let told = false; ; told = true) {
    const held = await look.again();
    const cells = list.map((cell, n) => ({ ...cell, held: held[n]! }));
    const problem = listProblem(cells);
    if (!waits || look.tookMs >= patienceMs(look, problem)) {
      if (look.isSilent && waits) throw unavailable('no database of the list answers');
      if (problem !== null) throw new SchemaError(problem.text);
      return found(list, held);
    }
    const silent = cells.flatMap((cell) => (cell.held === null ? [cell.name] : []));
    if (!told && silent.length > 0) logger.warn({ cells: silent }, 'not every database answers; waiting for it');
    await sleep(RETRY_MS);
  }
}

const found = (cells: readonly CellAddress[], held: readonly (Held | null)[]): FoundCells => ({
  cells,
  silent: new Set(cells.filter((_, n) => held[n] === null)),
});

function patienceMs({ isSilent, isComplete }: Look, problem: ListProblem | null): number {
  if (isSilent) return PATIENCE_MS;
  if (problem === null) return isComplete ? 0 : OTHERS_MS;
  if (!problem.mayPass) return 0;
  return isComplete ? FIRST_START_MS : PATIENCE_MS;
}

class Look {
  readonly #startedAt = performance.now();
  readonly #held: (Held | null)[];

  constructor(private readonly cells: readonly Pick<CellAddress, 'name' | 'url' | 'directUrl'>[]) {
    this.#held = cells.map(() => null);
  }

  /** Asks those that have not answered, or are new: these may be told what they hold at any moment. */
  async again(): Promise<readonly (Held | null)[]> {
    const ask = async (n: number): Promise<void> => {
      if ((this.#held[n]?.range ?? null) === null) this.#held[n] = await askFor(this.cells[n]!);
    };
    await Promise.all(this.cells.map((_, n) => ask(n)));
    return this.#held;
  }

  get isComplete(): boolean {
    return !this.#held.includes(null);
  }

  /** Nobody answers. */
  get isSilent(): boolean {
    return this.#held.every((each) => each === null);
  }

  get tookMs(): number {
    return performance.now() - this.#startedAt;
  }
}

/** Null: it does not answer now. */
async function askFor(cell: Pick<CellAddress, 'name' | 'url' | 'directUrl'>): Promise<Held | null> {
  try {
    return await named(cell, () => heldBy(cell.directUrl ?? cell.url));
  } catch (error) {
    if (isUnavailable(error)) return null;
    throw error;
  }
}
