import type { WhoAmI } from '@millrace/contract';
import { createStore, useStore } from '../lib/store.js';

/**
 * The credential lives in this tab only (`sessionStorage`), until the tab or "Sign out" ends it. It goes into the
 * Authorization header and nowhere else: no cookie, so nothing to forge; no address, so nothing to leak.
 */
const KEY = 'millrace.token';
/** The tenant that an operator reads as; in this tab too. */
const AS_KEY = 'millrace.as';

export interface Session {
  readonly token: string | null;
  /** The tenant whose pages an operator reads: every request names it, except those of operators' own pages. */
  readonly as: string | null;
  /** Who the token is; null until the server has said so. */
  readonly who: WhoAmI | null;
  /** The server has refused the token in the meantime: it is asked for again, in place. */
  readonly expired: boolean;
}

const read = (key: string): string | null => {
  try {
    return sessionStorage.getItem(key);
  } catch {
    return null;
  }
};

/** A browser that keeps nothing asks again after a reload. */
function write(key: string, value: string | null): void {
  try {
    if (value === null) sessionStorage.removeItem(key);
    else sessionStorage.setItem(key, value);
  } catch {
    // Kept in memory only.
  }
}

export const session = createStore<Session>({ token: read(KEY), as: read(AS_KEY), who: null, expired: false });

export const useSession = (): Session => useStore(session);

/** The caller; only for what is shown after the sign-in. */
export function useWho(): WhoAmI {
  const { who } = useSession();
  if (who === null) throw new Error('nobody is signed in');
  return who;
}

/** Whether the caller may change things. The server enforces it; the dashboard only hides what would be refused. */
export const useMayWrite = (): boolean => {
  const { who } = useSession();
  return who !== null && !who.read_only && who.kind !== 'worker';
};

/** `as`: the tenant that the server has agreed to let this operator read as. */
export function signIn(token: string, who: WhoAmI, as: string | null = null): void {
  write(KEY, token);
  write(AS_KEY, as);
  session.set({ token, as, who, expired: false });
}

export function signOut(): void {
  write(KEY, null);
  write(AS_KEY, null);
  session.set({ token: null, as: null, who: null, expired: false });
}

/** Called when the server refuses the token of a signed-in person. What they see stays, behind the question. */
export function markExpired(token: string): void {
  const current = session.get();
  if (current.token === token && current.who !== null) session.set({ ...current, expired: true });
}

/** With `--dev` any token will do: the server says so in the page, and the dashboard signs itself in. */
export const isDevServer = (): boolean => document.documentElement.dataset.millraceDev === 'true';
export const DEV_TOKEN = 'dashboard';
