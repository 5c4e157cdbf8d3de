import { createStore, useStore } from './store.js';

/**
 * What a person has put aside until it changes, kept in this browser: by a key, what it was like then. Nothing of a
 * tenant is kept but names of queues and fingerprints of errors.
 */
type Aside = Readonly<Record<string, string>>;

const KEY = 'millrace.aside';
/** The oldest give way. */
const MAX = 200;

function read(): Aside {
  try {
    const found: unknown = JSON.parse(localStorage.getItem(KEY) ?? '{}');
    const entries = typeof found === 'object' && found !== null ? Object.entries(found) : [];
    return Object.fromEntries(entries.filter(([, mark]) => typeof mark === 'string'));
  } catch {
    return {};
  }
}

const aside = createStore<Aside>(read());

function keep(next: Aside): void {
  aside.set(next);
  try {
    localStorage.setItem(KEY, JSON.stringify(next));
  } catch {
    // A browser that keeps nothing forgets it with the page.
  }
}

export const useAside = (): Aside => useStore(aside);

export function putAside(key: string, mark: string): void {
  const others = Object.entries(aside.get()).filter(([other]) => other !== key);
  keep(Object.fromEntries([...others, [key, mark] as const].slice(-MAX)));
}

export const bringBack = (keys: readonly string[]): void =>
  keep(Object.fromEntries(Object.entries(aside.get()).filter(([key]) => !keys.includes(key))));
