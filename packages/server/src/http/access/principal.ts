/** Who is calling. A developer is whoever shows any token to a server in development mode. */
export type Principal =
  | { readonly kind: 'tenant'; readonly tenant: string }
  | { readonly kind: 'worker' }
  | { readonly kind: 'developer'; readonly tenant: string };
