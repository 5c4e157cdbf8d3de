import { int4Array, uuidArray } from '../../store/arrays.js';
import type { Database } from '../../store/database.js';
import { loadStatements, type Statement } from '../../store/sql.js';
import type { Bundle, HeldJob } from './bundle.js';
import { leaseKeyColumns, type LeaseKey } from './lease-key.js';

/** Extends leases, and checks whether they are still held, any number of them at once. */
const sql = loadStatements('lease.sql', ['extend', 'standing', 'extend_bundles', 'standing_bundles']);

/** Whether a lease that was asked about is still held. */
export type Stands = (lease: LeaseKey) => boolean;

/** Whether a member of a bundle that was asked about is still in it. */
export type IsBundled = (member: HeldJob) => boolean;

export class LeaseKeeper {
  constructor(private readonly db: Database) {}

  /** Sets new deadlines, measured from now. */
  extend(leases: readonly LeaseKey[], secs: number | readonly number[]): Promise<Stands> {
    const deadlines = typeof secs === 'number' ? leases.map(() => secs) : secs;
    return this.#leases(sql.extend, [...leaseKeyColumns(leases), int4Array(deadlines)]);
  }

  /** Checks without writing anything. */
  standing(leases: readonly LeaseKey[]): Promise<Stands> {
    return this.#leases(sql.standing, leaseKeyColumns(leases));
  }

  extendBundles(bundles: readonly Bundle[], secs: number): Promise<IsBundled> {
    return this.#bundles(sql.extend_bundles, [tokens(bundles), secs]);
  }

  standingBundles(bundles: readonly Bundle[]): Promise<IsBundled> {
    return this.#bundles(sql.standing_bundles, [tokens(bundles)]);
  }

  async #leases(statement: Statement, values: unknown[]): Promise<Stands> {
    const rows = await this.db.run<LeaseKey>(statement, values);
    const standing = new Set(rows.map(({ id, token }) => `${id} ${token}`));
    return ({ id, token }) => standing.has(`${id} ${token}`);
  }

  async #bundles(statement: Statement, values: unknown[]): Promise<IsBundled> {
    const rows = await this.db.run<{ token: string; tenant: string; open: string }>(statement, values);
    const open = new Map(rows.map((row) => [`${row.token} ${row.tenant}`, row.open]));
    return ({ leaseToken, job, position }) => open.get(`${leaseToken} ${job.tenant_id}`)?.[position - 1] === '1';
  }
}

const tokens = (bundles: readonly Bundle[]): Buffer => uuidArray(bundles.map((bundle) => bundle.token));
