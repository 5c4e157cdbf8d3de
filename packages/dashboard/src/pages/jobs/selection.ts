import { useCallback, useState } from 'react';
import type { Selection } from '../../components/tables/table.js';

export interface RowSelection extends Selection {
  readonly ids: readonly string[];
  readonly clear: () => void;
}

/** Which rows are selected; forgets them when the list is about something else. */
export function useSelection(rows: readonly string[], list: string): RowSelection {
  const [chosen, setChosen] = useState<{ readonly list: string; readonly ids: ReadonlySet<string> }>({
    list,
    ids: new Set(),
  });
  const selected = chosen.list === list ? chosen.ids : new Set<string>();
  const set = (ids: ReadonlySet<string>): void => setChosen({ list, ids });
  // The same function as long as the list is the same: rows that have not changed are not drawn again.
  const toggle = useCallback(
    (id: string): void =>
      setChosen((before) => {
        const next = new Set(before.list === list ? before.ids : []);
        if (!next.delete(id)) next.add(id);
        return { list, ids: next };
      }),
    [list],
  );
  const all = rows.length > 0 && rows.every((id) => selected.has(id));
  return {
    ids: [...selected],
    all,
    has: (id) => selected.has(id),
    toggle,
    toggleAll: () => set(all ? new Set() : new Set(rows)),
    clear: () => set(new Set()),
  };
}
