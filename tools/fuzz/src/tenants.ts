export interface Tenant {
  readonly name: string;
  readonly token: string;
  /** Part of everything the tenant stores, so that it is recognised wherever it turns up. */
  readonly mark: string;
}

/** The callers of a run. */
export interface Callers {
  readonly tenants: readonly Tenant[];
  readonly workerToken: string;
  readonly adminToken: string;
  readonly jwtSecret: string;
}

export type Kind = 'jobs' | 'workflows' | 'cron' | 'dlq' | 'operations';

/** Enough to choose from, and few enough that the same resource is used again. */
const MAX_REMEMBERED = 400;

export interface Lease {
  readonly id: string;
  readonly token: string;
  readonly mark: string;
}

/** What earlier answers said: which tenant owns which id, which leases are held, where lists continue. */
export class Memory {
  readonly #owners = new Map<string, Tenant>();
  readonly #ids = new Map<string, string[]>();
  readonly leases: Lease[] = [];
  readonly cursors: { readonly tenant: Tenant; readonly operation: string; readonly cursor: string }[] = [];

  ids(kind: Kind, tenant: Tenant): readonly string[] {
    return this.#ids.get(`${kind} ${tenant.name}`) ?? [];
  }

  ownerOf(id: string): Tenant | undefined {
    return this.#owners.get(id);
  }

  /**
   * False if the id is known to belong to another tenant. Dead letters have numbers for ids, so they are kept apart.
   */
  learn(kind: Kind, tenant: Tenant, id: string): boolean {
    const key = kind === 'dlq' ? `dlq ${id}` : id;
    const owner = this.#owners.get(key);
    if (owner !== undefined) return owner === tenant;
    this.#owners.set(key, tenant);
    const ids = this.#ids.get(`${kind} ${tenant.name}`) ?? [];
    remember(ids, id);
    this.#ids.set(`${kind} ${tenant.name}`, ids);
    return true;
  }

  learnLease(lease: Lease): void {
    remember(this.leases, lease);
  }

  learnCursor(tenant: Tenant, operation: string, cursor: string): void {
    remember(this.cursors, { tenant, operation, cursor });
  }
}

function remember<T>(items: T[], item: T): void {
  items.push(item);
  if (items.length > MAX_REMEMBERED) items.shift();
}
