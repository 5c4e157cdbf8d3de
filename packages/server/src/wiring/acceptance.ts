import type { CellAddress } from '../config/cell-list.js';
import { isSameRange } from '../domain/cells.js';
import type { Database } from '../store/connection/database.js';
import { checkRange, holdRange, storedRange } from '../store/migrations/cell-range.js';
import { currentSchema, isServable } from '../store/migrations/schema-check.js';
import { accept, named, type AcceptOptions } from './open-database.js';

/**
 * Whether a database is what it is taken for. Before it has been accepted nothing is done with it, and it is looked at
 * in full; from then on it is only asked whether it still is the same. One that is new at a start has first to be told
 * which tenants it holds.
 */
export class Acceptance {
  #isAccepted = false;
  #isNew = false;
  #begins: (() => void)[] = [];

  constructor(
    private readonly db: Database,
    private address: CellAddress,
    private readonly options: Omit<AcceptOptions, 'takesNew'>,
  ) {}

  get isAccepted(): boolean {
    return this.#isAccepted;
  }

  get isNew(): boolean {
    return this.#isNew;
  }

  /** `goesOn`: whether to wait longer for one that does not answer. */
  async atStart(takesNew: boolean, goesOn: () => boolean): Promise<void> {
    await accept(this.db, this.address, { ...this.options, takesNew }, goesOn);
    this.#isNew = takesNew && !isSameRange(await storedRange(this.db), this.address.range);
    if (!this.#isNew) await this.hold();
  }

  /** Fails unless it is there and the right one. */
  async probe(): Promise<void> {
    if (!this.#isAccepted) return this.atStart(false, () => false);
    const schema = await currentSchema(this.db);
    if (!isServable(schema)) throw new Error('its schema is not one that this program can live with');
    await checkRange(this.db, this.address.range);
  }

  /** Writes down which tenants it holds, unless it says so already. Throws if it cannot be these. */
  async hold(): Promise<void> {
    const { range } = this.address;
    await named(this.address, () => holdRange(this.db, range));
    this.db.expectRange(range);
    this.#isNew = false;
    this.#isAccepted = true;
    for (const begin of this.#begins.splice(0)) begin();
  }

  /** Does it now, or once the database has been accepted. */
  whenAccepted(begin: () => void): void {
    if (this.#isAccepted) begin();
    else this.#begins.push(begin);
  }

  /** The same database, with other tenants. */
  relist(address: CellAddress): void {
    this.address = address;
    this.db.expectRange(address.range);
  }
}
