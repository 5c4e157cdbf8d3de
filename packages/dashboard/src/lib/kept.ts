import { createStore, type Store } from './store.js';

/** What a person chose, kept in this browser under a name. Nothing secret is kept here. */
export function keptStore<T>(name: string, read: (text: string | null) => T, write: (value: T) => string): Store<T> {
  const key = `millrace.${name}`;
  const found = (): string | null => {
    try {
      return localStorage.getItem(key);
    } catch {
      return null;
    }
  };
  const store = createStore(read(found()));
  store.subscribe(() => {
    try {
      localStorage.setItem(key, write(store.get()));
    } catch {
      // A browser that keeps nothing forgets the choice with the page.
    }
  });
  return store;
}
