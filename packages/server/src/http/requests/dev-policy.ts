import type { InputSettings } from './caller-text.js';

/** In development nobody wants to wait a minute to see a retry. Elsewhere the default of the contract holds. */
export const DEV_RETRY_DELAY_SECS = 1;

/** The policy that a request gives, with what holds in development mode unless the request says otherwise. */
export function givenPolicy<C extends { readonly retry_delay_secs?: number | null }>(
  config: C | null | undefined,
  { dev = false }: InputSettings,
): C | { readonly retry_delay_secs: number } | null | undefined {
  if (!dev || typeof config?.retry_delay_secs === 'number') return config;
  return { ...config, retry_delay_secs: DEV_RETRY_DELAY_SECS };
}
