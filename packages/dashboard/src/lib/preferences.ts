import { createStore, useStore, type Store } from './store.js';

/** What a person chose about the look of the dashboard; kept in this browser. Nothing secret is kept here. */
export type Theme = 'system' | 'light' | 'dark';
export type Zone = 'local' | 'utc';

function kept<T extends string>(name: string, values: readonly T[], fallback: T): Store<T> {
  const key = `millrace.${name}`;
  const read = (): T => {
    try {
      const found = localStorage.getItem(key);
      return values.find((value) => value === found) ?? fallback;
    } catch {
      return fallback;
    }
  };
  const store = createStore(read());
  store.subscribe(() => {
    try {
      localStorage.setItem(key, store.get());
    } catch {
      // A browser that keeps nothing forgets the choice with the page.
    }
  });
  return store;
}

export const theme = kept<Theme>('theme', ['system', 'light', 'dark'], 'system');
export const zone = kept<Zone>('zone', ['local', 'utc'], 'local');

export const useZone = (): Zone => useStore(zone);

/** The style sheet follows `data-theme`; without it, the system's choice. */
export function applyTheme(): void {
  const apply = (): void => {
    const chosen = theme.get();
    if (chosen === 'system') delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = chosen;
  };
  apply();
  theme.subscribe(apply);
}
