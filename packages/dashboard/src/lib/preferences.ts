import { keptStore } from './kept.js';
import { useStore, type Store } from './store.js';

/** What a person chose about the look of the dashboard; kept in this browser. Nothing secret is kept here. */
export type Theme = 'system' | 'light' | 'dark';
export type Zone = 'local' | 'utc';

const kept = <T extends string>(name: string, values: readonly T[], fallback: T): Store<T> =>
  keptStore<T>(name, (found) => values.find((value) => value === found) ?? fallback, String);

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
