/**
 * What one database could give out of a queue: its first due jobs in claim order, or that this cannot be said, because
 * the queue has limits or its tenants take turns.
 */
export interface CellHeads {
  readonly heads: readonly Head[];
  /** Whether there may be others behind these. */
  readonly more: boolean;
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
 * database cannot say what it has, nobody knows the order: then all get the same share, dealt out one by one, and
 * `first` gets the first. With fewer jobs than databases, that decides who gets any.
 */
export function shareOut(cells: readonly CellHeads[], count: number, first: number): Shares {
  return cells.some(({ gated }) => gated) ? dealt(cells, count, first) : { shares: merged(cells, count), next: null };
}

export interface Shares {
  /** Of each database. */
  readonly shares: readonly number[];
  /** Whose turn it is to be the first; null: it is nobody's, they were taken in claim order. */
  readonly next: number | null;
}

/**
 * Of which databases that is not good enough: what is `known` of them, instead of seen just now. If it does not fill
 * the count, they may have jobs that were not there before; and where a share takes all that is known, and there is
 * more, the next one may come before those of the others.
 */
export function doubted(known: readonly (CellHeads | null)[], shares: readonly number[], count: number): boolean[] {
  const isShort = shares.reduce((sum, share) => sum + share, 0) < count;
  return known.map((cell, n) => {
    if (cell === null) return false;
    const { length } = cell.heads;
    return isShort || (cell.more && length < count && shares[n] === length);
  });
}

function merged(cells: readonly CellHeads[], count: number): number[] {
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

function dealt(cells: readonly CellHeads[], count: number, first: number): Shares {
  const most = cells.map(({ heads, gated }) => (gated ? count : heads.length));
  const shares = cells.map(() => 0);
  let left = Math.min(
    count,
    most.reduce((sum, n) => sum + n, 0),
  );
  let cell = first % cells.length;
  for (; left > 0; cell = (cell + 1) % cells.length) {
    if (shares[cell]! >= most[cell]!) continue;
    shares[cell]!++;
    left--;
  }
  return { shares, next: cell };
}

const comesBefore = (a: Head, b: Head): boolean =>
  a.priority > b.priority || (a.priority === b.priority && a.at < b.at);
