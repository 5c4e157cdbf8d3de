import { readCellList, type CellAddress } from '../config/cell-list.js';
import { CellMap, isSameRange, rangeText } from '../domain/cells.js';
import { unavailable } from '../domain/errors.js';
import { expectHeld, heldBy } from '../store/handover/held.js';
import type { FoundCells } from './held-cells.js';
import { named, PATIENCE_MS } from './open-database.js';
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

type Options = Omit<CellOptions, 'goesOn' | 'mayBeAway' | 'isSilent' | 'takesNew'>;

export class LiveCells {
  readonly #listeners: (() => void)[] = [];
  #begin: BeginCell | null = null;
  #reloading: Promise<void> = Promise.resolve();

  private constructor(
    readonly cells: RunningCell[],
    readonly map: CellMap,
    private readonly options: Options,
  ) {}

  static async start({ cells: addresses, silent }: FoundCells, options: Options): Promise<LiveCells> {
    const mayBeAway = addresses.length > 1;
    const startedAt = performance.now();
    // Of several, those that were to be waited for have been waited for when they were looked at.
    const goesOn = (): boolean => !mayBeAway && performance.now() - startedAt < PATIENCE_MS;
    const starts = addresses.map((address) => {
      const isSilent = silent.has(address);
      return startCell(address, { ...options, goesOn, mayBeAway, isSilent, takesNew: true });
    });
    // When all have ended: those that started are known to the lifecycle by then, whatever became of the others.
    await Promise.allSettled(starts);
    const cells = await Promise.all(starts);
    await holdNew(cells);
    if (mayBeAway && cells.every(({ isAway }) => isAway())) throw unavailable('no database of the list answers');
    return new LiveCells(cells, new CellMap(addresses), options);
  }

  onChange(listener: () => void): void {
    this.#listeners.push(listener);
  }

  /** What is done with each cell, now and later, as soon as its database answers. */
  begin(begin: BeginCell): void {
    this.#begin = begin;
    for (const cell of this.cells) cell.whenAccepted(() => begin(cell));
  }

  /** One at a time. @throws if the list is refused */
  reload(file: string): Promise<void> {
    const next = this.#reloading.catch(() => undefined).then(() => this.#replace(readCellList(file)));
    this.#reloading = next;
    return next;
  }

  async #replace(list: readonly CellAddress[]): Promise<void> {
    const { logger } = this.options;
    const known = (address: CellAddress) => this.cells.find((cell) => isSameDatabase(cell.address, address));
    // All of them before anything is begun with any: what is refused has no effect.
    for (const address of list) if (!isAsListed(known(address), address)) await expectTenantsIn(address);
    const fresh: RunningCell[] = [];
    const next: { readonly cell: RunningCell; readonly address: CellAddress }[] = [];
    try {
      for (const address of list) {
        const cell = known(address) ?? (await startCell(address, { ...this.options, ...IN_PLACE }));
        if (!this.cells.includes(cell)) fresh.push(cell);
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

const isAsListed = (cell: RunningCell | undefined, { range }: CellAddress): boolean =>
  cell !== undefined && isSameRange(cell.address.range, range);

/** On a connection of its own: those of the cell are for the range that it is listed with now. */
const expectTenantsIn = (address: CellAddress): Promise<void> =>
  named(address, () => expectHeld(address.directUrl ?? address.url, address.range));

/** Its tenants have been served from another database: so it must have them. */
const IN_PLACE = { goesOn: () => false, mayBeAway: false, isSilent: false, takesNew: false } as const;

/**
 * At a first start each database is told what it holds, once all of them can be: before that, nobody can know whether
 * one that is missing has tenants. First those that have some, because one of these may turn out to have others.
 */
async function holdNew(cells: readonly RunningCell[]): Promise<void> {
  const fresh = cells.filter(({ isNew }) => isNew());
  if (fresh.length > 0 && cells.some(({ isAway, isNew }) => isAway() && !isNew()))
    throw unavailable('a first start needs every database of the list, and one does not answer');
  const held = await Promise.all(fresh.map(({ address }) => heldBy(address.directUrl ?? address.url)));
  const used = fresh.filter((_, n) => held[n]!.isUsed);
  for (const cell of [...used, ...fresh.filter((each) => !used.includes(each))]) await cell.hold();
}
