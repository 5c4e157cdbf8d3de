import type { Logger } from 'pino';
import type { CellAddress } from '../config/cell-list.js';
import type { DatabaseConfig } from '../config/config.js';
import { BUCKETS, EVERY_BUCKET, evenRanges, isSameRange } from '../domain/cells.js';
import { nameOfPlace } from '../domain/held-ranges.js';
import { startEmbedded } from '../embedded/index.js';
import { ensureDatabase } from '../store/migrations/create-database.js';
import { UsageError } from '../config/read-options.js';
import { heldBy } from '../store/handover/held.js';
import { heldCells, listedCells, type FoundCells } from './held-cells.js';

export type { CellAddress } from '../config/cell-list.js';

export interface DatabasesOptions {
  readonly logger: Logger;
  readonly onStop: (stop: () => Promise<void>) => void;
  /** Whether to wait for databases whose ranges nobody else knows. */
  readonly waits: boolean;
}

/** Every database of the configuration, in the order of its list. Starts the embedded PostgreSQL, if it is that. */
export async function databasesOf(
  { database, pooler, directDatabaseUrl: directUrl }: Pick<DatabaseConfig, 'database' | 'pooler' | 'directDatabaseUrl'>,
  { logger, onStop, waits }: DatabasesOptions,
): Promise<FoundCells> {
  if (database.kind === 'cells') return listedCells(database.file, { logger, waits });
  if (database.kind === 'urls') return heldCells(database.urls, { logger, waits });
  const only = { name: '', range: EVERY_BUCKET, pooler, directUrl };
  const known = (cells: readonly CellAddress[]): FoundCells => ({ cells, silent: new Set() });
  if (database.kind === 'url') return known([{ ...only, url: database.url }]);
  const embedded = await startEmbedded({ dir: database.dir, log: logger });
  const { url } = embedded;
  onStop(() => embedded.stop());
  if (database.cells === undefined) return known([{ ...only, url }]);
  const cells: CellAddress[] = [];
  for (const [index, range] of evenRanges(database.cells).entries()) {
    const name = nameOfPlace(index);
    const cell = { ...only, name, range, url: await ensureDatabase(url, `millrace_${name}`) };
    // Before the others are made: the first tells how many there are.
    if (index === 0) await expectAsMany(cell, database);
    cells.push(cell);
  }
  return known(cells);
}

/** @throws UsageError if the embedded PostgreSQL has been divided otherwise */
async function expectAsMany({ url, range }: CellAddress, { dir }: { readonly dir: string }): Promise<void> {
  const { range: held } = await heldBy(url);
  if (held === null || isSameRange(held, range)) return;
  const count = Math.round(BUCKETS / (held.last - held.first + 1));
  throw new UsageError(
    `the embedded PostgreSQL in ${dir} has ${count} cells, and keeps them: give --cells ${count}, or another --data-dir`,
  );
}
