import { printAddress, type Address } from '../../lib/address.js';
import { keptStore } from '../../lib/kept.js';

/** Filters and columns under a name. The list is kept in this browser; the address of one can be passed on. */
export interface SavedView {
  readonly name: string;
  /** What follows the question mark, without the name. */
  readonly address: string;
}

const VIEWS_MAX = 50;
export const VIEW_NAME_MAX = 60;

/** What the address says about the moment, not about the view. */
const PASSING = { view: undefined, cursor: undefined, new: undefined, from: undefined } as const;

export const addressOfView = (address: Address): string => printAddress({ ...address, ...PASSING });

/** Whatever is found there was written by an earlier version, or by somebody else. */
function parseViews(text: string | null): readonly SavedView[] {
  try {
    const found: unknown = JSON.parse(text ?? '[]');
    return Array.isArray(found) ? found.filter(isView).slice(0, VIEWS_MAX) : [];
  } catch {
    return [];
  }
}

const isView = (value: unknown): value is SavedView => {
  const { name, address } = (value ?? {}) as Partial<SavedView>;
  return typeof name === 'string' && name !== '' && typeof address === 'string';
};

export const savedViews = keptStore<readonly SavedView[]>('job-views', parseViews, JSON.stringify);

/** Under the name of another it takes its place. */
export function saveView(view: SavedView): void {
  const others = savedViews.get().filter(({ name }) => name !== view.name);
  savedViews.set([...others, view].slice(-VIEWS_MAX).sort((one, other) => one.name.localeCompare(other.name)));
}

export const forgetView = (gone: string): void => savedViews.set(savedViews.get().filter(({ name }) => name !== gone));
