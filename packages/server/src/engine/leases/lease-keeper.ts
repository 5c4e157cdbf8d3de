import { int4Array, uuidArray } from '../../store/arrays.js';
import type { Database } from '../../store/database.js';
import { loadStatements, type Statement } from '../../store/sql.js';
import type { Bundle } from './bundle.js';
import { leaseKeyColumns, type LeaseKey } from './lease-key.js';

/** Heartbeats and questions after leases, for any number of them at once. */
const sql = loadStatements('lease.sql', ['extend', 'standing', 'extend_bundles', 'standing_bundles']);

/** Whether a lease that was asked after still stands. */
export type Stands = (lease: LeaseKey) => boolean;

/** Whether the job at a place of a bundle still stands there. */
export type StandsIn = (bundle: Bundle, place: number) => boolean;

export class LeaseKeeper {
  constructor(private readonly db: Database) {}

  /** Sets new deadlines from now. */
  extend(leases: readonly LeaseKey[], secs: number | readonly number[]): Promise<Stands> {
    const each = typeof secs === 'number' ? leases.map(() => secs) : secs;
    return this.#leases(sql.extend, [...leaseKeyColumns(leases), int4Array(each)]);
  }

  /** With nothing written. */
  standing(leases: readonly LeaseKey[]): Promise<Stands> {
    return this.#leases(sql.standing, leaseKeyColumns(leases));
  }

  extendBundles(bundles: readonly Bundle[], secs: number): Promise<StandsIn> {
    return this.#bundles(sql.extend_bundles, [tokens(bundles), secs]);
  }

  standingBundles(bundles: readonly Bundle[]): Promise<StandsIn> {
    return this.#bundles(sql.standing_bundles, [tokens(bundles)]);
  }

  async #leases(statement: Statement, values: unknown[]): Promise<Stands> {
    const rows = await this.db.run<LeaseKey>(statement, values);
    const standing = new Set(rows.map(({ id, token }) => `${id} ${token}`));
    return ({ id, token }) => standing.has(`${id} ${token}`);
  }

  async #bundles(statement: Statement, values: unknown[]): Promise<StandsIn> {
    const rows = await this.db.run<{ token: string; tenant: string; open: string }>(statement, values);
    const open = new Map(rows.map((row) => [`${row.token} ${row.tenant}`, row.open]));
    return ({ token, tenant }, place) => open.get(`${token} ${tenant}`)?.[place - 1] === '1';
  }
}

const tokens = (bundles: readonly Bundle[]): Buffer => uuidArray(bundles.map((bundle) => bundle.token));
