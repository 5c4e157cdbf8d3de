import type { Logger } from 'pino';
import type { CellAddress } from '../config/cell-list.js';
import type { DatabaseConfig } from '../config/config.js';
import { EVERY_BUCKET, evenRanges } from '../domain/cells.js';
import { startEmbedded } from '../embedded/index.js';
import { ensureDatabase } from '../store/migrations/create-database.js';
import { heldCells, listedCells } from './held-cells.js';

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
): Promise<readonly CellAddress[]> {
  if (database.kind === 'cells') return listedCells(database.file, { logger, waits });
  if (database.kind === 'urls') return heldCells(database.urls, { logger, waits });
  const only = { name: '', range: EVERY_BUCKET, pooler, directUrl };
  if (database.kind === 'url') return [{ ...only, url: database.url }];
  const embedded = await startEmbedded({ dir: database.dir, log: logger });
  const { url } = embedded;
  onStop(() => embedded.stop());
  if (database.cells === undefined) return [{ ...only, url }];
  const cells: CellAddress[] = [];
  for (const [index, range] of evenRanges(database.cells).entries()) {
    const name = `cell${index + 1}`;
    cells.push({ ...only, name, range, url: await ensureDatabase(url, `millrace_${name}`) });
  }
  return cells;
}
