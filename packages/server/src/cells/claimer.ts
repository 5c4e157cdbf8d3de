import { isUnavailable } from '../domain/errors.js';
import { doubted, shareOut, type CellHeads } from '../domain/heads.js';
import type { HeldJob } from '../engine/leases/bundle.js';
import { byClaimOrder, type Claim, type Claimer } from '../engine/leases/claim.js';
import type { QueueHead } from '../engine/leases/idle-queues.js';
import type { Slots } from '../engine/leases/slots.js';
import type { LeaseRequest } from '../engine/api.js';
import { present, type Cell } from './cell.js';
import { Patience } from './patience.js';

/**
 * Claims over several databases. It looks at what each could give out, and claims from those that hold the first jobs
 * in claim order, as many as they hold of them: exact for one claimer, and approximate while others claim the same
 * jobs. What others took meanwhile is made up for by the databases that have more. A look is good for the claims that
 * follow within a moment (engine/leases/peeked-heads.ts).
 *
 * Of a queue with settings, no look tells what a claim would get. Its databases get equal shares, and take turns at
 * being the first: so each is reached even by workers that lease one job at a time.
 *
 * A database that takes too long is passed over until it answers (patience.ts). What it has claimed by then is held by
 * whoever asked, and comes after the claim (`later`). Where there are no others to go on with, it is waited for.
 */
const NOTHING: CellHeads = { heads: [], more: false, gated: false };
const MAX_TURNS_KEPT = 10_000;

type ClaimCell = Pick<Cell, 'name' | 'isAway'> & { readonly engine: { readonly claimer: Claimer } };

/** One cell, what it has shown, and which of the slots it is asked to fill. */
interface Share {
  readonly cell: ClaimCell;
  readonly seen: CellHeads;
  readonly places: readonly number[];
}

interface Filled {
  readonly jobs: readonly HeldJob[];
  readonly isShort: boolean;
  readonly cut: boolean;
  /** It did not say in time what it has claimed. */
  readonly later: Promise<readonly HeldJob[]> | null;
}

const UNASKED: Filled = { jobs: [], isShort: false, cut: false, later: null };

export class CellsClaimer {
  readonly #looks: Patience<ClaimCell>;
  readonly #claims: Patience<ClaimCell>;
  /** Of queues with settings: the place of the cell whose turn it is to be the first. */
  readonly #turns = new Map<string, number>();

  constructor(
    private readonly cells: readonly ClaimCell[],
    patienceMs?: number,
  ) {
    this.#looks = new Patience(patienceMs);
    this.#claims = new Patience(patienceMs);
  }

  /** `passesOver`: those that the caller does not want anything from, by their places. */
  async claim(queue: string, slots: Slots, passesOver?: (place: number) => boolean): Promise<Claim> {
    for (const { engine } of this.cells) engine.claimer.claimed(queue, slots, false);
    const jobs: HeldJob[] = [];
    const late: Promise<readonly HeldJob[]>[] = [];
    const hasSome = (): boolean => jobs.length + late.length > 0;
    let free = Array.from({ length: slots.count }, (_, place) => place);
    let asked = this.#quick(passesOver);
    const isAlone = asked.length === 1;
    let cut = false;
    for (;;) {
      const shares = await this.#look(queue, asked, free).catch((error: unknown) => {
        // What has been claimed must reach the caller, whatever happens to the next look.
        if (!hasSome()) throw error;
        return [];
      });
      if (shares.length === 0) break;
      const filled = await this.#fill(queue, slots, shares, { isAlone, hasSome: hasSome() });
      filled.forEach((part) => jobs.push(...part.jobs));
      late.push(...filled.flatMap(({ later }) => later ?? []));
      cut = filled.some((part) => part.cut);
      // The places of a claim that is late are free again. A lease is found by its job as well as by its token.
      const used = new Set(shares.flatMap(({ places }, n) => places.slice(0, filled[n]!.jobs.length)));
      free = free.filter((place) => !used.has(place));
      const hasMore = shares.filter(({ seen, places }, n) => {
        return !filled[n]!.isShort && (seen.gated || seen.more || seen.heads.length > places.length);
      });
      if (cut || free.length === 0 || hasMore.length === 0 || !filled.some(({ isShort }) => isShort)) break;
      asked = hasMore.map(({ cell }) => cell);
    }
    const later = late.length === 0 ? null : Promise.all(late).then((parts) => parts.flat());
    return { jobs: jobs.sort(byClaimOrder), cut, later };
  }

  asked(request: LeaseRequest): void {
    for (const { engine } of this.cells) engine.claimer.asked(request);
  }

  async nextDue(queue: string): Promise<number | null> {
    const [head] = await this.heads([queue]);
    return head?.secs ?? null;
  }

  /** In all that answer: whoever listens for news asks, also while none of them does. */
  isClosed(queue: string): boolean {
    return this.cells.filter(({ isAway }) => !isAway()).every(({ engine }) => engine.claimer.isClosed(queue));
  }

  /** The first of all databases. */
  async heads(queues: readonly string[]): Promise<QueueHead[]> {
    const answers = await this.#askAll(this.#quick(), ({ engine }) => engine.claimer.heads(queues));
    const secs = new Map<string, number>();
    for (const head of answers.flatMap((answer) => answer ?? []))
      secs.set(head.queue, Math.min(head.secs, secs.get(head.queue) ?? Infinity));
    return [...secs].map(([queue, soonest]) => ({ queue, secs: soonest }));
  }

  async #look(queue: string, cells: readonly ClaimCell[], free: readonly number[]): Promise<Share[]> {
    const count = free.length;
    const known = cells.map(({ engine }) => engine.claimer.peeked(queue, count));
    const seen = await this.#see(queue, cells, known, count);
    const first = this.#firstOf(queue, cells);
    let { shares, next: turn } = shareOut(seen, count, first);
    const doubtful = doubted(known, shares, count);
    if (doubtful.some(Boolean)) {
      const sure = seen.map((heads, n) => (doubtful[n] ? null : heads));
      seen.splice(0, seen.length, ...(await this.#see(queue, cells, sure, count)));
      ({ shares, next: turn } = shareOut(seen, count, first));
    }
    if (turn !== null) this.#turnIsOf(queue, cells[turn]!);
    let next = 0;
    return shares.flatMap((share, n) => {
      const places = free.slice(next, (next += share));
      // A database whose jobs all come later than those of the others may still make up for what those do not have.
      const { heads, gated } = seen[n]!;
      return share > 0 || gated || heads.length > 0 ? [{ cell: cells[n]!, seen: seen[n]!, places }] : [];
    });
  }

  #firstOf(queue: string, cells: readonly ClaimCell[]): number {
    const turn = this.#turns.get(queue);
    if (turn === undefined) return 0;
    const first = cells.findIndex((cell) => this.cells.indexOf(cell) >= turn);
    return Math.max(0, first);
  }

  #turnIsOf(queue: string, cell: ClaimCell): void {
    if (this.#turns.size >= MAX_TURNS_KEPT) this.#turns.clear();
    this.#turns.set(queue, this.cells.indexOf(cell));
  }

  /** Looks where nothing is known. */
  async #see(
    queue: string,
    cells: readonly ClaimCell[],
    known: readonly (CellHeads | null)[],
    count: number,
  ): Promise<CellHeads[]> {
    const unknown = cells.filter((_, n) => known[n] === null);
    const found = await this.#askAll(unknown, ({ engine }) => engine.claimer.peek(queue, count));
    const heads = new Map(unknown.map((cell, place) => [cell, found[place]]));
    return cells.map((cell, n) => known[n] ?? heads.get(cell) ?? NOTHING);
  }

  /** What could be claimed must reach the caller, whatever happens to the other claims. */
  async #fill(
    queue: string,
    slots: Slots,
    shares: readonly Share[],
    { isAlone, hasSome }: { readonly isAlone: boolean; readonly hasSome: boolean },
  ): Promise<Filled[]> {
    const bytes = Math.floor(slots.bytes / Math.max(1, shares.filter(({ places }) => places.length > 0).length));
    const claims = shares.map(async ({ cell, places }): Promise<Filled | { readonly error: unknown }> => {
      if (places.length === 0) return UNASKED;
      const claim = cell.engine.claimer.claim(queue, slots.pick(places, bytes));
      try {
        const answer = isAlone ? await claim : await this.#claims.inTime(cell, claim);
        if (answer === null) return { ...UNASKED, isShort: true, later: claim.then(jobsOf, nothing) };
        const { jobs, cut } = answer;
        return { jobs, cut, isShort: jobs.length < places.length && !cut, later: null };
      } catch (error) {
        return { error };
      }
    });
    const filled = await Promise.all(claims);
    const failure = filled.find((part) => 'error' in part);
    const gotNothing = filled.every((part) => 'error' in part || (part.jobs.length === 0 && part.later === null));
    if (failure !== undefined && gotNothing && !hasSome && !isUnavailable(failure.error)) throw failure.error;
    return filled.map((part) => ('error' in part ? { ...UNASKED, isShort: true } : part));
  }

  /** Those that are worth asking: slow ones only if there are no others. If none is, this fails. */
  #quick(passesOver: (place: number) => boolean = () => false): readonly ClaimCell[] {
    const there = present(this.cells.filter((_, place) => !passesOver(place)));
    const quick = there.filter((cell) => !this.#isSlow(cell));
    return quick.length > 0 ? quick : there;
  }

  #isSlow(cell: ClaimCell): boolean {
    return this.#looks.isSlow(cell) || this.#claims.isSlow(cell);
  }

  /** Null in the place of each that fails, or takes longer than others. If none answers, this fails. */
  async #askAll<T extends object>(
    cells: readonly ClaimCell[],
    ask: (cell: ClaimCell) => Promise<T>,
  ): Promise<(T | null)[]> {
    const failures: unknown[] = [];
    const late: { readonly place: number; readonly answer: Promise<T> }[] = [];
    const answers = await Promise.all(
      cells.map(async (cell, place) => {
        try {
          const answer = ask(cell);
          const given = await this.#looks.inTime(cell, answer);
          if (given === null) late.push({ place, answer });
          return given;
        } catch (error) {
          failures.push(error);
          return null;
        }
      }),
    );
    if (cells.length === 0 || answers.some((answer) => answer !== null)) return answers;
    if (late.length === 0) throw failures[0] as Error;
    const waits = late.map(async ({ place, answer }) => answers.with(place, await answer));
    return Promise.any(waits).catch((error: AggregateError) => {
      throw error.errors[0] as Error;
    });
  }
}

const jobsOf = ({ jobs }: Claim): readonly HeldJob[] => jobs;
const nothing = (): readonly HeldJob[] => [];
