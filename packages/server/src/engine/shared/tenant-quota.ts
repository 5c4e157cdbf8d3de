/** Bounds how much of something is in use at once, in all and for one tenant. */
export interface TenantQuotaOptions {
  readonly inAll: number;
  readonly perTenant: number;
}

export class TenantQuota {
  readonly #byTenant = new Map<string, number>();
  #used = 0;

  constructor(private readonly most: TenantQuotaOptions) {}

  /** False: there is not that much left, and nothing was taken. */
  take(tenant: string, n: number): boolean {
    const ofTenant = (this.#byTenant.get(tenant) ?? 0) + n;
    if (ofTenant > this.most.perTenant || this.#used + n > this.most.inAll) return false;
    this.#byTenant.set(tenant, ofTenant);
    this.#used += n;
    return true;
  }

  giveBack(tenant: string, n: number): void {
    const ofTenant = (this.#byTenant.get(tenant) ?? 0) - n;
    if (ofTenant > 0) this.#byTenant.set(tenant, ofTenant);
    else this.#byTenant.delete(tenant);
    this.#used -= n;
  }
}
