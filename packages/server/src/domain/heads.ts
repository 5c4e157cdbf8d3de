/**
 * What one database could give out of a queue: its first due jobs in claim order, or that this cannot be said, because
 * the queue has limits or its tenants take turns.
 */
export interface CellHeads {
  readonly heads: readonly Head[];
  /** There is something, and only a claim tells how much. */
  readonly gated: boolean;
}

export interface Head {
  readonly priority: number;
  /** When it fell due, in seconds since 1970. */
  readonly at: number;
}

/**
 * How many of `count` jobs to take from each database, so that together they are the first in claim order. Where a
 * database cannot say what it has, nobody knows the order: then all get the same share.
 */
export function shareOut(cells: readonly CellHeads[], count: number): number[] {
  return cells.some(({ gated }) => gated) ? evenShares(cells, count) : mergedShares(cells, count);
}

function mergedShares(cells: readonly CellHeads[], count: number): number[] {
  const taken = cells.map(() => 0);
  for (let n = 0; n < count; n++) {
    let best = -1;
    cells.forEach(({ heads }, cell) => {
      const head = heads[taken[cell]!];
      const first = best === -1 ? undefined : cells[best]!.heads[taken[best]!];
      if (head !== undefined && (first === undefined || comesBefore(head, first))) best = cell;
    });
    if (best === -1) break;
    taken[best]!++;
  }
  return taken;
}

function evenShares(cells: readonly CellHeads[], count: number): number[] {
  const most = cells.map(({ heads, gated }) => (gated ? count : heads.length));
  const shares = cells.map(() => 0);
  let left = Math.min(
    count,
    most.reduce((sum, n) => sum + n, 0),
  );
  for (let cell = 0; left > 0; cell = (cell + 1) % cells.length) {
    if (shares[cell]! >= most[cell]!) continue;
    shares[cell]!++;
    left--;
  }
  return shares;
}

const comesBefore = (a: Head, b: Head): boolean =>
  a.priority > b.priority || (a.priority === b.priority && a.at < b.at);
