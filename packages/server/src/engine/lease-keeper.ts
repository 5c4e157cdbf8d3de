import { int4Array, uuidArray } from '../store/arrays.js';
import type { Database } from '../store/database.js';
import { loadStatements } from '../store/sql.js';

/** Heartbeats and questions after leases, for any number of them at once. */
const sql = loadStatements('lease.sql', ['extend', 'standing']);

export interface LeaseKey {
  readonly id: string;
  readonly token: string;
}

export class LeaseKeeper {
  constructor(private readonly db: Database) {}

  /** Sets new deadlines from now; the tokens of those that still stood. */
  extend(leases: readonly LeaseKey[], secs: number | readonly number[]): Promise<ReadonlySet<string>> {
    const each = typeof secs === 'number' ? leases.map(() => secs) : secs;
    return this.#tokens(sql.extend, [...keys(leases), int4Array(each)]);
  }

  /** The tokens of those that stand, with nothing written. */
  standing(leases: readonly LeaseKey[]): Promise<ReadonlySet<string>> {
    return this.#tokens(sql.standing, keys(leases));
  }

  async #tokens(statement: (typeof sql)['extend'], values: unknown[]): Promise<ReadonlySet<string>> {
    const rows = await this.db.run<{ token: string }>(statement, values);
    return new Set(rows.map((row) => row.token));
  }
}

function keys(leases: readonly LeaseKey[]): unknown[] {
  return [uuidArray(leases.map((lease) => lease.id)), uuidArray(leases.map((lease) => lease.token))];
}
