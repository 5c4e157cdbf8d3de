import { readCellList, type CellAddress } from '../config/cell-list.js';
import { CellMap, isSameRange, rangeText } from '../domain/cells.js';
import { unavailable } from '../domain/errors.js';
import { onDatabase, readCell } from '../store/handover/cell-row.js';
import { SchemaError } from '../store/migrations/migrate.js';
import { OTHERS_MS, PATIENCE_MS } from './open-database.js';
import { startCell, type CellOptions, type RunningCell } from './start-cell.js';

/**
 * The databases of this process, in the order of their list. A list that is read again may name further ones, give
 * those that are there other ranges, and leave some out; a change is one step, between two turns of the event loop:
 * `cells` and `map` always belong together, and whoever keeps something for each cell hears of it (`onChange`).
 *
 * A list is refused as a whole, and everything stays as it was, unless each database that is new or gets another range
 * answers and says that it holds just that.
 */
export type BeginCell = (cell: RunningCell) => void;

type Options = Omit<CellOptions, 'goesOn' | 'mayBeAway'>;

export class LiveCells {
  readonly #listeners: (() => void)[] = [];
  #begin: BeginCell | null = null;
  #reloading: Promise<void> = Promise.resolve();

  private constructor(
    readonly cells: RunningCell[],
    readonly map: CellMap,
    private readonly options: Options,
  ) {}

  static async start(addresses: readonly CellAddress[], options: Options): Promise<LiveCells> {
    const startedAt = performance.now();
    let someAnswered = false;
    const goesOn = (): boolean => performance.now() - startedAt < (someAnswered ? OTHERS_MS : PATIENCE_MS);
    const mayBeAway = addresses.length > 1;
    const starts = addresses.map(async (address) => {
      const cell = await startCell(address, { ...options, goesOn, mayBeAway });
      someAnswered ||= !cell.isAway();
      return cell;
    });
    // When all have ended: those that started are known to the lifecycle by then, whatever became of the others.
    await Promise.allSettled(starts);
    const cells = await Promise.all(starts);
    if (mayBeAway && cells.every(({ isAway }) => isAway())) throw unavailable('no database of the list answers');
    return new LiveCells(cells, new CellMap(addresses), options);
  }

  onChange(listener: () => void): void {
    this.#listeners.push(listener);
  }

  /** What is done with each cell, now and later, as soon as its database answers. */
  begin(begin: BeginCell): void {
    this.#begin = begin;
    for (const cell of this.cells) cell.whenAdmitted(() => begin(cell));
  }

  /** One at a time. @throws if the list is refused */
  reload(file: string): Promise<void> {
    const next = this.#reloading.catch(() => undefined).then(() => this.#replace(readCellList(file)));
    this.#reloading = next;
    return next;
  }

  async #replace(list: readonly CellAddress[]): Promise<void> {
    const { logger } = this.options;
    const fresh: RunningCell[] = [];
    const next: { readonly cell: RunningCell; readonly address: CellAddress }[] = [];
    try {
      for (const address of list) {
        const known = this.cells.find((cell) => isSameDatabase(cell.address, address));
        if (known !== undefined) await expectHeld(known, address);
        const cell = known ?? (await startCell(address, { ...this.options, goesOn: () => false, mayBeAway: false }));
        if (known === undefined) fresh.push(cell);
        next.push({ cell, address });
      }
    } catch (error) {
      await Promise.all(fresh.map(({ lifecycle }) => lifecycle.stop(0)));
      throw error;
    }
    const gone = this.cells.filter((cell) => !next.some((each) => each.cell === cell));
    for (const { cell, address } of next) if (!isSameRange(cell.address.range, address.range)) cell.relist(address);
    this.cells.splice(0, this.cells.length, ...next.map(({ cell }) => cell));
    this.map.replace(list);
    for (const listener of this.#listeners) listener();
    for (const cell of fresh) if (this.#begin !== null) this.#begin(cell);
    for (const cell of gone) cell.relist(cell.address);
    await Promise.all(gone.map(({ lifecycle }) => lifecycle.stop(0)));
    const shown = this.cells.map(({ name, address }) => `${name} ${rangeText(address.range)}`);
    logger.info({ cells: shown }, 'read the list of cells again');
  }
}

const isSameDatabase = (a: CellAddress, b: CellAddress): boolean =>
  a.name === b.name && a.url === b.url && a.directUrl === b.directUrl && a.pooler === b.pooler;

/** On a connection of its own: those of the cell are for the range that it is listed with now. */
async function expectHeld({ address: { range } }: RunningCell, listed: CellAddress): Promise<void> {
  if (isSameRange(range, listed.range)) return;
  const found = await onDatabase(listed.directUrl ?? listed.url, readCell);
  if (found !== null && found.state !== 'gone' && isSameRange(found.range, listed.range)) return;
  const holds = found === null || found.state === 'gone' ? 'nothing' : `the buckets ${rangeText(found.range)}`;
  throw new SchemaError(
    `cell ${listed.name}: the database holds ${holds}, and is listed with ${rangeText(listed.range)}`,
  );
}
