import { useNavigate, useSearch } from '@tanstack/react-router';
import { useCallback } from 'react';

/** Everything that a page was set to stands in its address, as plain text. */
export type Address = Readonly<Record<string, string | undefined>>;

export const parseAddress = (text: string): Address => Object.fromEntries(new URLSearchParams(text));

export function printAddress(address: Readonly<Record<string, unknown>>): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(address)) {
    if (typeof value === 'string' && value !== '') parameters.set(name, value);
  }
  const text = parameters.toString();
  return text === '' ? '' : `?${text}`;
}

export type SetAddress = (patch: Address, options?: { readonly replace?: boolean }) => void;

/** What the address says, and how to change it. A change is a step for the back button unless it replaces. */
export function useAddress(): readonly [Address, SetAddress] {
  const address: Address = useSearch({ strict: false });
  const navigate = useNavigate();
  const set = useCallback<SetAddress>(
    (patch, { replace = false } = {}) => {
      // The route stays; only what follows the question mark changes.
      const search = ((before: Address) => ({ ...before, ...patch })) as never;
      void navigate({ to: '.', search, replace, resetScroll: false });
    },
    [navigate],
  );
  return [address, set];
}
