/** Who is calling. In development mode any token makes the caller a developer. */
export type Principal =
  | TenantPrincipal
  | { readonly kind: 'worker' }
  | { readonly kind: 'admin' }
  | { readonly kind: 'developer'; readonly tenant: string };

export interface TenantPrincipal {
  readonly kind: 'tenant';
  readonly tenant: string;
  /** May read everything of its tenant, and change nothing. */
  readonly readOnly: boolean;
  /** Milliseconds since the epoch; null for a credential that does not expire. */
  readonly expiresAt: number | null;
}
