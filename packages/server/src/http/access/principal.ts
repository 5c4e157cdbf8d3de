/** Who is calling. In development mode, every caller that sends a bearer token is a developer. */
export type Principal =
  | { readonly kind: 'tenant'; readonly tenant: string }
  | { readonly kind: 'worker' }
  | { readonly kind: 'developer'; readonly tenant: string };
