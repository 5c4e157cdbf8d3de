import type { Logger } from 'pino';
import type { CellAddress } from '../config/cell-list.js';
import { UsageError } from '../config/config.js';
import { rangeText } from '../domain/cells.js';
import { isUnavailable, unavailable } from '../domain/errors.js';
import { nameOfPlace, rangesHeld, type Held } from '../domain/held-ranges.js';
import { heldBy } from '../store/handover/held.js';
import { OTHERS_MS, PATIENCE_MS, RETRY_MS } from './open-database.js';

/**
 * The databases of several --database-url, with what they hold. `waits`: for those that do not answer yet, as a start
 * does. Nothing is written.
 *
 * @throws UsageError if they are not one service
 */
export async function heldCells(urls: readonly string[], logger: Logger, waits: boolean): Promise<CellAddress[]> {
  const startedAt = performance.now();
  const held = urls.map((): Held | null => null);
  for (;;) {
    await Promise.all(urls.map(async (url, n) => (held[n] ??= await askFor(url, n))));
    const ranges = rangesHeld(held);
    const waited = performance.now() - startedAt;
    const isOver = !waits || !held.includes(null) || waited > (typeof ranges === 'string' ? PATIENCE_MS : OTHERS_MS);
    if (isOver && held.every((each) => each === null)) throw unavailable('no database of --database-url answers');
    if (isOver && typeof ranges === 'string') throw new UsageError(`--database-url names no whole service: ${ranges}`);
    if (isOver && typeof ranges !== 'string') {
      const cells = urls.map((url, n) => ({ ...PLAIN, name: nameOfPlace(n), range: ranges[n]!, url }));
      logger.info({ cells: cells.map(({ name, range }) => `${name} ${rangeText(range)}`) }, 'several databases');
      return cells;
    }
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  }
}

const PLAIN = { pooler: 'none', directUrl: null } as const;

/** Null: it does not answer now. */
async function askFor(url: string, index: number): Promise<Held | null> {
  try {
    return await heldBy(url);
  } catch (error) {
    if (isUnavailable(error)) return null;
    if (error instanceof Error) error.message = `${nameOfPlace(index)}: ${error.message}`;
    throw error;
  }
}
