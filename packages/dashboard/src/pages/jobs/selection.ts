import { useCallback, useState } from 'react';
import type { Selection } from '../../components/tables/table.js';

/** Ids that were chosen in a list. */
export interface ChosenRows {
  readonly ids: ReadonlySet<string>;
  readonly set: (ids: ReadonlySet<string>) => void;
  readonly toggle: (id: string) => void;
}

export interface RowSelection extends Selection {
  readonly ids: readonly string[];
  readonly clear: () => void;
}

const NONE: ReadonlySet<string> = new Set();

/** Which rows are chosen; forgets them when the list is about something else. */
export function useChosenRows(list: string): ChosenRows {
  const [chosen, setChosen] = useState({ list, ids: NONE });
  // The same function as long as the list is the same: rows that have not changed are not drawn again.
  const toggle = useCallback(
    (id: string): void =>
      setChosen((before) => {
        const next = new Set(before.list === list ? before.ids : NONE);
        if (!next.delete(id)) next.add(id);
        return { list, ids: next };
      }),
    [list],
  );
  return { ids: chosen.list === list ? chosen.ids : NONE, set: (ids) => setChosen({ list, ids }), toggle };
}

/** What a table needs to know: the chosen ids, and whether they are all that it shows. */
export function selectionOf({ ids, set, toggle }: ChosenRows, rows: readonly { readonly id: string }[]): RowSelection {
  const all = rows.length > 0 && rows.every(({ id }) => ids.has(id));
  return {
    ids: [...ids],
    all,
    has: (id) => ids.has(id),
    toggle,
    toggleAll: () => set(all ? NONE : new Set(rows.map(({ id }) => id))),
    clear: () => set(NONE),
  };
}
