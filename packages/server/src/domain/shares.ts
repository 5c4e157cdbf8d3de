/**
 * Queues whose tenants take turns. Those who may be served stand in the order of their turns; each gets a job, then
 * each another, until there are enough. So however much one has waiting, nobody else waits for more than its turn. A
 * claim for many gives each a few at a time: jobs of a tenant that are claimed together cost less (bundles).
 */
const MANY = 64;
const A_FEW = 4;

/** How many jobs one is given at its turn, if a claim is for so many. */
export const turnOf = (wanted: number): number => (wanted < MANY ? 1 : A_FEW);

/** The line of a tenant, or (null) those who are in no line yet: they count as one. */
export interface Group {
  readonly line: string | null;
  /** How many jobs may be taken from it: no more than wait there. */
  readonly waiting: number;
}

export interface Served {
  readonly line: string | null;
  readonly count: number;
  /** Its place in the order of turns, from 1. */
  readonly seat: number;
}

export interface Turns {
  readonly served: readonly Served[];
  /** Whoever was served last, after whom the next claim begins; null: with the first line. */
  readonly last: string | null;
  /** How many each was given at a time. */
  readonly atATime: number;
}

export function takeTurns(groups: readonly Group[], wanted: number): Turns {
  const counts = groups.map(() => 0);
  const most = turnOf(wanted);
  let last: string | null = null;
  let left = wanted;
  let open = groups.map((_, seat) => seat).filter((seat) => groups[seat]!.waiting > 0);
  while (left > 0 && open.length > 0) {
    for (const seat of open) {
      if (left === 0) break;
      const count = Math.min(most, left, groups[seat]!.waiting - counts[seat]!);
      counts[seat]! += count;
      left -= count;
      last = groups[seat]!.line;
    }
    open = open.filter((seat) => counts[seat]! < groups[seat]!.waiting);
  }
  const served = groups.map(({ line }, seat) => ({ line, count: counts[seat]!, seat: seat + 1 }));
  return { served: served.filter(({ count }) => count > 0), last, atATime: most };
}
