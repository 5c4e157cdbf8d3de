import { bucketOf } from '../../domain/ids.js';
import type { Database } from '../../store/connection/database.js';
import { loadStatements } from '../../store/sql.js';

/** Tenants are registered before their first row: an id leads back to its tenant through the tenants table. */
const sql = loadStatements('shared/tenants.sql');

export class Tenants {
  readonly #known = new Set<string>();

  constructor(private readonly db: Database) {}

  async register(tenant: string): Promise<void> {
    if (this.#known.has(tenant)) return;
    await this.db.run(sql.register_tenant({ tenant, bucket: bucketOf(tenant) }));
    this.#known.add(tenant);
  }
}
