/**
 * Where one is. The browser's address is the truth; `view` is what is shown, which lags behind it while the file of a
 * page is fetched. Whoever follows a link, goes back or changes a filter ends up in `arrive`, which shows the page of
 * the address as soon as it is there, unless the address has become another by then.
 */
import type { ReactNode } from 'react';
import { parseAddress, printAddress, type Address } from './address.js';
import { UI_PATH } from './places.js';
import { createStore, useStore } from './store.js';

/** A page: a file of its own, fetched when somebody goes there or points at a link to it. */
export interface Route {
  /** A part that begins with $ stands for any text. */
  readonly path: string;
  readonly load: () => Promise<{ readonly default: () => ReactNode }>;
  /** Begins to read what the page reads first, while its file is being fetched. */
  readonly begin?: ((address: Address) => void) | undefined;
}

export interface View {
  /** Below that of the dashboard: "/jobs/019b…". */
  readonly path: string;
  /** That of the route; null: there is no such page. */
  readonly pattern: string | null;
  /** What stands for the part of the pattern that may be any text. */
  readonly param: string;
  readonly address: Address;
  /** Null while the first page is fetched. */
  readonly page: (() => ReactNode) | null;
  /** Why the file of the page could not be fetched. */
  readonly failure: Error | null;
  /** Where to scroll to once it is drawn; null: nowhere. */
  readonly top: number | null;
}

const NOWHERE: View = { path: '', pattern: null, param: '', address: {}, page: null, failure: null, top: null };

const view = createStore<View>(NOWHERE);
export const useView = (): View => useStore(view);

/** The id or name in the path of the page. */
export const useParam = (): string => useView().param;

const pages = new Map<Route, () => ReactNode>();
let routes: readonly Route[] = [];

/** The place that a path of the dashboard stands for. */
function matchOf(path: string): { readonly route: Route | null; readonly param: string } {
  const parts = path.split('/');
  for (const route of routes) {
    const pattern = route.path.split('/');
    const fits =
      pattern.length === parts.length && pattern.every((part, n) => part.startsWith('$') || part === parts[n]);
    if (!fits) continue;
    const at = pattern.findIndex((part) => part.startsWith('$'));
    return { route, param: at < 0 ? '' : decoded(parts[at] ?? '') };
  }
  return { route: null, param: '' };
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** Below that of the dashboard, without a slash at its end. */
const here = (): string => location.pathname.slice(UI_PATH.length).replace(/\/+$/, '') || '/';

async function fetchPage(route: Route): Promise<() => ReactNode> {
  const { default: page } = await route.load();
  pages.set(route, page);
  return page;
}

function arrive(top: number | null): void {
  const path = here();
  const { route, param } = matchOf(path);
  const address = parseAddress(location.search);
  const next = { path, pattern: route?.path ?? null, param, address, page: null, failure: null, top };
  if (route === null) return view.set(next);
  if (path !== view.get().path) route.begin?.(address);
  const page = pages.get(route);
  if (page !== undefined) return view.set({ ...next, page });
  // The place of the first page is known before its file is there: nobody is told meanwhile that there is none.
  if (view.get() === NOWHERE) view.set(next);
  const url = location.href;
  const show = (found: Pick<View, 'page' | 'failure'>): void => {
    if (location.href === url) view.set({ ...next, ...found });
  };
  fetchPage(route).then(
    (found) => show({ page: found, failure: null }),
    (error: unknown) => show({ page: null, failure: error instanceof Error ? error : new Error(String(error)) }),
  );
}

/** How far each place in the history was scrolled, by its number there. */
const tops = new Map<number, number>();
const numberOf = (state: unknown): number => (state as { readonly place?: number } | null)?.place ?? 0;

interface Going {
  readonly address?: Address;
  /** Takes the place of where one is: the way back leads past it. */
  readonly replace?: boolean;
  /** The same page, set to something else: it stays where it is. */
  readonly stays?: boolean;
}

/** The browser's address of a place; `to` may have a query of its own. */
export const hrefOf = (to: string, address: Address = {}): string => UI_PATH + to + printAddress(address);

export function go(to: string, { address = {}, replace = false, stays = false }: Going = {}): void {
  const href = hrefOf(to, address);
  const place = numberOf(history.state);
  if (replace || href === location.pathname + location.search) history.replaceState({ place }, '', href);
  else history.pushState({ place: place + 1 }, '', href);
  arrive(stays ? null : 0);
}

export type SetAddress = (patch: Address, options?: { readonly replace?: boolean }) => void;

/** The page stays; only what follows the question mark changes. A step for the back button unless it replaces. */
const setAddress: SetAddress = (patch, { replace = false } = {}) => {
  const { path, address } = view.get();
  // Somebody is on the way to another page.
  if (here() !== path) return;
  go(path, { address: { ...address, ...patch }, replace, stays: true });
};

/** What the address says, and how to change it. */
export const useAddress = (): readonly [Address, SetAddress] => [useView().address, setAddress];

/** Fetches the file of a page that somebody is likely to go to. */
export function prepare(to: string): void {
  const { route } = matchOf(to.replace(/\?.*/, ''));
  // A failure shows when somebody goes there, which fetches again.
  if (route !== null && !pages.has(route)) fetchPage(route).catch(() => undefined);
}

/** Called once: from now on the page of the address is shown. */
export function startRouting(all: readonly Route[]): void {
  routes = all;
  history.scrollRestoration = 'manual';
  addEventListener('scroll', () => tops.set(numberOf(history.state), scrollY), { passive: true });
  addEventListener('popstate', ({ state }) => {
    // A link within the page.
    if (location.hash !== '' && here() === view.get().path) return;
    arrive(tops.get(numberOf(state)) ?? 0);
  });
  arrive(null);
}
