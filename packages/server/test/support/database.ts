import { cloneCells, cellsOfRun } from './cells.js';
import { oneDatabase, type TestDatabase } from './one-database.js';

export { copyDatabase, emptyDatabase, oneDatabase, type TestDatabase } from './one-database.js';

/** What a service stands on in one test file: a migrated database, or several, if this run is about several. */
export const cloneDatabase = (): Promise<TestDatabase> => {
  const cells = cellsOfRun();
  return cells === null ? oneDatabase() : cloneCells(cells);
};
