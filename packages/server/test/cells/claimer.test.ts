import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { CellsClaimer } from '../../src/cells/claimer.js';
import { PeekedHeads } from '../../src/engine/leases/peeked-heads.js';

/**
 * Which databases a claim looks at before it claims. The databases are arrays here: whoever asks a real one can tell
 * how often it was asked only as far as the machine is quick.
 */
interface FakeJob {
  readonly id: string;
  readonly priority: number;
}

class FakeCell {
  isAway = (): boolean => false;
  isClosed = (): boolean => false;
  looks = 0;
  /** While it is given, claims are answered when it is resolved. */
  held: Promise<void> | null = null;
  /** The same for looks. */
  heldLooks: Promise<void> | null = null;
  claims = 0;
  isLostAfterClaim = false;
  /** The queue has settings: so many jobs may be claimed. Null: it has none. */
  room: number | null = null;
  readonly #peeked = new PeekedHeads();

  constructor(
    readonly name: string,
    public jobs: FakeJob[],
  ) {}

  get isLost(): boolean {
    return this.isLostAfterClaim && this.claims > 0;
  }

  get engine(): any {
    return { claimer: this };
  }

  claimed(): void {
    // Only real databases keep who asked.
  }

  peeked(queue: string, count: number): any {
    const seen = this.isLost ? null : this.#peeked.of(queue, count, 0);
    return seen && { gated: false, ...seen };
  }

  async peek(queue: string, count: number): Promise<any> {
    this.looks++;
    await this.heldLooks;
    if (this.isLost) throw new Error('it is lost');
    if (this.room !== null) return { gated: this.jobs.length > 0, heads: [], more: false };
    const seen = this.jobs.slice(0, count + 2).map(({ priority }) => ({ priority, at: 0 }));
    const more = this.jobs.length > seen.length;
    this.#peeked.found(queue, { heads: seen, more }, 0, Infinity);
    return { gated: false, heads: seen.slice(0, count), more: more || seen.length > count };
  }

  async claim(queue: string, { count }: { readonly count: number }): Promise<any> {
    this.claims++;
    await this.held;
    this.#peeked.claiming(queue, count);
    const taken = this.jobs.splice(0, Math.min(count, this.room ?? count));
    if (this.room !== null) this.room -= taken.length;
    if (taken.length < count) this.#peeked.forget(queue);
    const held = taken.map(({ id, priority }) => ({ job: { id, config: { priority }, scheduled_at: 'now' } }));
    return { jobs: held, cut: false };
  }
}

const slots = (count: number): any => ({
  count,
  bytes: 1_000_000,
  pick: (places: readonly number[]) => ({ count: places.length }),
});

const withPriorities = (name: string, ...priorities: number[]): FakeCell =>
  new FakeCell(
    name,
    priorities.map((priority) => ({ id: `${name}${priority}`, priority })),
  );

const withRoom = (cell: FakeCell, room: number): FakeCell => Object.assign(cell, { room });

async function claim(cells: readonly FakeCell[], count: number, claimer = new CellsClaimer(cells)): Promise<string[]> {
  const { jobs } = await claimer.claim('q', slots(count));
  return jobs.map(({ job }) => job.id);
}

describe('a claim over several databases', () => {
  it('needs no look where one of a moment ago still tells the order', async () => {
    const cells = [withPriorities('a', 9, 7, 5, 3, 1), withPriorities('b', 8, 6, 4, 2, 0)];
    expect([...(await claim(cells, 1)), ...(await claim(cells, 1))]).toEqual(['a9', 'b8']);
    expect(cells.map(({ looks }) => looks)).toEqual([1, 1]);
  });

  it('looks again at the one whose last known job it would take', async () => {
    const cells = [withPriorities('a', 9, 8, 7, 6, 5), withPriorities('b', 4, 3)];
    for (const id of ['a9', 'a8', 'a7', 'a6']) expect(await claim(cells, 1)).toEqual([id]);
    expect(cells.map(({ looks }) => looks)).toEqual([2, 1]);
  });

  it('does not take fewer than known jobs of one for all there is', async () => {
    const cells = [withPriorities('a', 9, 8, 7, 6, 5, 4), withPriorities('b', 3, 2, 1)];
    expect(await claim(cells, 1)).toEqual(['a9']);
    expect(await claim(cells, 4)).toEqual(['a8', 'a7', 'a6', 'a5']);
  });

  it('looks everywhere before it says that there is nothing', async () => {
    const cells = [withPriorities('a'), withPriorities('b', 1)];
    expect(await claim(cells, 1)).toEqual(['b1']);
    cells[0]!.jobs = [{ id: 'of another process', priority: 0 }];
    expect(await claim(cells, 1)).toEqual(['of another process']);
  });

  it('makes up for jobs that others have taken since the look', async () => {
    const cells = [withPriorities('a', 9, 8, 7), withPriorities('b', 3, 2, 1)];
    expect(await claim(cells, 1)).toEqual(['a9']);
    cells[0]!.jobs = [];
    expect(await claim(cells, 2)).toEqual(['b3', 'b2']);
  });
});

describe('a claim over several databases of a queue with settings', () => {
  it('reaches each of them, also one job at a time', async () => {
    const cells = ['a', 'b', 'c'].map((name) => withRoom(withPriorities(name, 5, 4, 3), 10));
    const claimer = new CellsClaimer(cells);
    const taken: string[] = [];
    for (let n = 0; n < 4; n++) taken.push(...(await claim(cells, 1, claimer)));
    expect(taken).toEqual(['a5', 'b5', 'c5', 'a4']);
    // Another queue has turns of its own.
    expect(await claimer.claim('other', slots(1)).then(({ jobs }) => jobs[0]?.job.id)).toBe('a3');
    expect(await claim(cells, 4, claimer)).toEqual(expect.arrayContaining(['b4', 'b3', 'c4']));
  });

  it('finds what one of them may give out where the others may give out nothing', async () => {
    const full = ['a', 'b'].map((name) => withRoom(withPriorities(name, 9, 8, 7), 0));
    const cells = [...full, withRoom(withPriorities('c', 1, 0), 1)];
    const claimer = new CellsClaimer(cells);
    expect(await claim(cells, 1, claimer)).toEqual(['c1']);
    expect(await claim(cells, 1, claimer)).toEqual([]);
  });

  it('takes from the others what one of them may not give out', async () => {
    const cells = [withRoom(withPriorities('a', 9, 8, 7, 6), 1), withRoom(withPriorities('b', 5, 4, 3, 2), 9)];
    expect(await claim(cells, 4)).toEqual(['a9', 'b5', 'b4', 'b3']);
  });
});

describe('a claim over several databases of which one does not answer it', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  /** Until `end` is called, this cell answers no claim. */
  function hold(cell: FakeCell): () => void {
    let end = (): void => undefined;
    cell.held = new Promise((resolve) => (end = resolve));
    return () => {
      cell.held = null;
      end();
    };
  }
  interface HeldLooks {
    readonly end: () => void;
    readonly fail: () => void;
  }
  function holdLooks(cell: FakeCell): HeldLooks {
    let [end, fail] = [(): void => undefined, (): void => undefined];
    cell.heldLooks = new Promise((resolve, reject) => {
      end = resolve;
      fail = () => reject(new Error('it is lost'));
    });
    return { end, fail };
  }
  const jobsOf = (found: any): string[] => found.jobs.map(({ job }: any) => job.id);

  it('goes on with the others, and brings later what that one has claimed', async () => {
    const cells = [withPriorities('a', 9, 8), withPriorities('b', 5, 4, 3)];
    const claimer = new CellsClaimer(cells);
    const end = hold(cells[0]!);
    const claimed = claimer.claim('q', slots(1));
    await vi.advanceTimersByTimeAsync(1_000);
    const found = await claimed;
    expect(jobsOf(found)).toEqual(['b5']);
    // Nobody waits for it again.
    expect(jobsOf(await claimer.claim('q', slots(1)))).toEqual(['b4']);
    expect(cells[0]!.claims).toBe(1);
    end();
    expect((await found.later)!.map(({ job }) => job.id)).toEqual(['a9']);
    expect(jobsOf(await claimer.claim('q', slots(1)))).toEqual(['a8']);
  });

  it('waits longer for one that was late, and did answer', async () => {
    const cells = [withPriorities('a', 9, 8, 7), withPriorities('b', 5, 4, 3)];
    const claimer = new CellsClaimer(cells);
    const answersAfter = async (ms: number): Promise<any> => {
      const end = hold(cells[0]!);
      const claimed = claimer.claim('q', slots(1));
      await vi.advanceTimersByTimeAsync(ms);
      end();
      return claimed;
    };
    const first = await answersAfter(1_500);
    expect([jobsOf(first), (await first.later).length]).toEqual([['b5'], 1]);
    const second = await answersAfter(1_500);
    expect([jobsOf(second), second.later]).toEqual([['a8'], null]);
  });

  it.each(['looks', 'claims'] as const)('waits for it if there is no other: its %s', async (what) => {
    const [sole, away] = [withPriorities('a', 9, 8), withPriorities('b', 5)];
    away.isAway = () => true;
    const claimer = new CellsClaimer([sole, away]);
    const end = what === 'claims' ? hold(sole) : holdLooks(sole).end;
    const claimed = claimer.claim('q', slots(1));
    await vi.advanceTimersByTimeAsync(5_000);
    end();
    const found = await claimed;
    expect([jobsOf(found), found.later]).toEqual([['a9'], null]);
  });

  it('waits for the first that answers if all of them take too long to look', async () => {
    const cells = [withPriorities('a', 9, 8), withPriorities('b', 5, 4)];
    const claimer = new CellsClaimer(cells);
    const [first, second] = cells.map(holdLooks);
    const claimed = claimer.claim('q', slots(1));
    await vi.advanceTimersByTimeAsync(5_000);
    second!.end();
    expect(jobsOf(await claimed)).toEqual(['b5']);
    first!.end();
  });

  it('fails if all of them take too long, and fail in the end', async () => {
    const cells = [withPriorities('a', 9), withPriorities('b', 5)];
    const looks = cells.map(holdLooks);
    const claimed = new CellsClaimer(cells).claim('q', slots(1));
    const refused = expect(claimed).rejects.toThrow('it is lost');
    await vi.advanceTimersByTimeAsync(5_000);
    for (const { fail } of looks) fail();
    await refused;
  });

  it('gives nothing up that it has, if a further look fails', async () => {
    const cells = [withPriorities('a', 9, 8, 7), withPriorities('b', 5, 4, 3)];
    const claimer = new CellsClaimer(cells);
    expect(await claim(cells, 1, claimer)).toEqual(['a9']);
    // Others have taken what was seen of the first, and then the second is lost.
    cells[0]!.jobs = [{ id: 'left', priority: 0 }];
    cells[1]!.isLostAfterClaim = true;
    expect((await claim(cells, 4, claimer)).sort()).toEqual(['b4', 'b5', 'left']);
    await expect(claim([cells[1]!], 1)).rejects.toThrow('it is lost');
  });
});

describe('a queue with limits on several databases', () => {
  const [one, other] = [withPriorities('a'), withPriorities('b')];
  const claimer = new CellsClaimer([one, other] as never);

  it('is closed while each that answers has no room', () => {
    expect(claimer.isClosed('q')).toBe(false);
    one.isClosed = () => true;
    expect(claimer.isClosed('q')).toBe(false);
    other.isAway = () => true;
    expect(claimer.isClosed('q')).toBe(true);
  });

  it('is asked for whenever there is news, also while no database answers', () => {
    [one.isAway, other.isAway] = [() => true, () => true];
    expect(claimer.isClosed('q')).toBe(true);
  });
});
