import type { WhoAmI } from '@millrace/contract';
import { createStore, useStore } from '../lib/store.js';

/**
 * The credential lives in this tab only (`sessionStorage`), until the tab or "Sign out" ends it. It goes into the
 * Authorization header and nowhere else: no cookie, so nothing to forge; no address, so nothing to leak.
 */
const KEY = 'millrace.token';

export interface Session {
  readonly token: string | null;
  /** Who the token is; null until the server has said so. */
  readonly who: WhoAmI | null;
  /** The server has refused the token in the meantime: it is asked for again, in place. */
  readonly expired: boolean;
}

const read = (): string | null => {
  try {
    return sessionStorage.getItem(KEY);
  } catch {
    return null;
  }
};

export const session = createStore<Session>({ token: read(), who: null, expired: false });

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

export function signIn(token: string, who: WhoAmI): void {
  try {
    sessionStorage.setItem(KEY, token);
  } catch {
    // Kept in memory only: a reload asks again.
  }
  session.set({ token, who, expired: false });
}

export function signOut(): void {
  try {
    sessionStorage.removeItem(KEY);
  } catch {
    // There was nothing to remove.
  }
  session.set({ token: null, who: null, expired: false });
}

/** Called when the server refuses the token of a signed-in person. What they see stays, behind the question. */
export function markExpired(token: string): void {
  const current = session.get();
  if (current.token === token && current.who !== null) session.set({ ...current, expired: true });
}

/** With `--dev` any token will do: the server says so in the page, and the dashboard signs itself in. */
export const isDevServer = (): boolean => document.documentElement.dataset.millraceDev === 'true';
export const DEV_TOKEN = 'dashboard';
