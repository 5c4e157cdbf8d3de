/** Who is calling. In development mode any token makes the caller a developer. */
export type Principal =
  | TenantPrincipal
  /** Queues: null if it may take jobs of all of them. */
  | { readonly kind: 'worker'; readonly queues: ReadonlySet<string> | null }
  /** The name that the file of tokens gives it; null: none. */
  | { readonly kind: 'admin'; readonly name: string | null }
  | { readonly kind: 'developer'; readonly tenant: string };

export interface TenantPrincipal {
  readonly kind: 'tenant';
  readonly tenant: string;
  /** May read everything of its tenant, and change nothing. */
  readonly readOnly: boolean;
  /** Milliseconds since the epoch; null for a credential that does not expire. */
  readonly expiresAt: number | null;
}
