import { int4Array, plainArray, textArray, uuidArray } from '../../store/arrays.js';
import type { Database } from '../../store/connection/database.js';
import { listIn, toInstant } from '../../store/rows.js';
import { loadStatements, type Statement } from '../../store/sql.js';
import type { HeldJob } from './bundle.js';
import { contextsIn, leased, toJobs, type ClaimAnswer } from './claim-answer.js';
import type { QueueHead } from './idle-queues.js';
import type { ClaimedJob } from './claimed-job.js';
import { KnownContexts } from './known-contexts.js';
import type { Hub } from '../shared/hub.js';
import { ratedIdsOf } from '../shared/limit-id.js';
import { ClaimFloors, type Floors } from './claim-floors.js';
import type { Counters } from '../shared/counters.js';
import type { Offers } from '../shared/offers.js';
import type { QueuePresence } from '../shared/queue-presence.js';
import type { Passage, QueueGates } from './queue-gates.js';
import type { Slots } from './slots.js';
import { PeekedHeads } from './peeked-heads.js';
import { noteWait } from './waited.js';
import { turnsFor } from './tenant-lines.js';
import type { CellHeads, Head } from '../../domain/heads.js';
import type { JobRecord } from '../../domain/records.js';
import type { LeaseRequest } from '../api.js';

/** Claiming: the only way into `running`, for the pool and for remote workers alike. */
const sql = loadStatements('leases/claim.sql');

export interface Claim {
  /** In claim order, at most one per slot. */
  readonly jobs: HeldJob[];
  /** There are fewer jobs than slots because they are large: more are due. */
  readonly cut: boolean;
  /**
   * Of several databases, one has not said in time what it has claimed. That is held in the name of the caller as well,
   * who takes it when it comes, or gives it back.
   */
  readonly later?: Promise<readonly HeldJob[]> | null;
}

interface Wanted {
  readonly count: number;
  readonly bytes: number;
  readonly floors: Floors | null;
}

interface Found extends Claim {
  /** Approximately, in characters of payload. */
  readonly bytes: number;
}

const NOTHING: Found = { jobs: [], cut: false, bytes: 0 };
const MAX_STARTED_KEPT = 50_000;
const MAX_LIMITS_KEPT = 10_000;
/** A look sees at least this far, so that the next claims need none. */
const LEAST_PEEKED = 50;

export class Claimer {
  readonly #floors = new ClaimFloors();
  readonly #contexts = new KnownContexts();
  readonly #started = new Set<string>();
  /** For queues with large jobs: how many to ask for, so that a claim does not lock hundreds of jobs to take five. */
  readonly #limits = new Map<string, number>();
  readonly #peeked = new PeekedHeads();

  constructor(
    private readonly db: Database,
    private readonly hub: Hub,
    private readonly counters: Counters,
    private readonly presence: QueuePresence,
    private readonly offers: Offers,
    private readonly gates: QueueGates,
  ) {
    hub.onAnyWork((queue, news) => {
      if (news === null) return this.#peeked.forget(queue);
      this.#floors.heard(queue, news);
      this.#peeked.heard(queue, news);
    });
  }

  async claim(queue: string, slots: Slots): Promise<Claim> {
    const count = Math.min(slots.count, this.#limits.get(queue) ?? Infinity);
    this.#peeked.claiming(queue, count);
    const { jobs, cut } = await this.#claimUpTo(queue, slots, count);
    if (jobs.length < count) this.#peeked.forget(queue);
    this.claimed(queue, slots, jobs.length > 0);
    const ended = cut || (jobs.length === count && count < slots.count);
    if (!ended) this.#limits.delete(queue);
    else if (this.#limits.size < MAX_LIMITS_KEPT) this.#limits.set(queue, jobs.length * 2);
    return { jobs, cut: ended };
  }

  /** Somebody has claimed jobs of the queue, here or in another database. */
  claimed(queue: string, slots: Slots, found: boolean): void {
    this.presence.seen(queue, found);
    // The pool ends what it does not know, so nothing waits for a handler there.
    if (slots.bundle !== null) this.offers.note(queue, null, null, null);
  }

  /** Somebody asks for jobs of the queue, and may wait for them without a claim. */
  asked({ queue, workerId, slots, tasks }: LeaseRequest): void {
    this.presence.seen(queue, false);
    this.offers.note(queue, workerId, slots, tasks);
  }

  /** Seconds until the next waiting job of the queue falls due (0 or less: it is due), or null if none waits. */
  async nextDue(queue: string): Promise<number | null> {
    const [head] = await this.heads([queue]);
    return head?.secs ?? null;
  }

  /** The first job to fall due on each of these queues, except those on which none waits; or when its gate opens. */
  async heads(queues: readonly string[]): Promise<QueueHead[]> {
    const heads = await this.db.run<QueueHead>(sql.next_due({ queues: textArray(queues) }));
    for (const { queue, secs } of heads) if (secs <= 0) this.#peeked.forget(queue);
    return heads.map(({ queue, secs }) => ({ queue, secs: Math.max(secs, this.gates.openings.closedSecs(queue)) }));
  }

  /** New jobs of the queue are no reason to claim: it has no room, as far as is known here. */
  isClosed(queue: string): boolean {
    return this.gates.openings.closedSecs(queue) > 0;
  }

  /** What a claim would find. Where several databases hold the queue, this tells which of them to claim from. */
  async peek(queue: string, count: number): Promise<CellHeads> {
    const now = performance.now();
    const asked = Math.max(count, LEAST_PEEKED);
    const floors = this.gates.lines.isShared(queue) ? null : this.#floors.floorsForLook(queue, now);
    const seen = await this.#look(queue, asked, floors);
    if (seen.gated) {
      const secs = await this.nextDue(queue);
      return { gated: secs !== null && secs <= 0, heads: [], more: false };
    }
    // Fewer than asked for: the floors may be hiding something.
    const { heads, nextSecs } = floors && seen.heads.length < asked ? await this.#look(queue, asked, null) : seen;
    const more = heads.length === asked;
    this.#peeked.found(queue, { heads, more }, now, nextSecs * 1000);
    return { gated: false, heads: heads.slice(0, count), more: heads.length > count || more };
  }

  async #look(queue: string, count: number, floors: Floors | null): Promise<Look> {
    const asked = { queue, max_jobs: count, later_floor: floors?.later ?? '-infinity' };
    const [row] = await this.db.run<PeekRow>(sql.peek({ ...asked, ...floorArrays(floors) }));
    const heads = listIn<[number, number]>(row?.heads ?? null).map(toHead);
    return { gated: row?.gated === true, heads, nextSecs: row?.next_secs ?? Infinity };
  }

  /** What a look of a moment ago has left, or null. */
  peeked(queue: string, count: number): CellHeads | null {
    const seen = this.#peeked.of(queue, count, performance.now());
    return seen && { gated: false, ...seen };
  }

  async #claimUpTo(queue: string, slots: Slots, count: number): Promise<Claim> {
    const floors = this.gates.lines.isShared(queue) ? null : this.#floors.floorsFor(queue, performance.now());
    if (!floors) return this.#claimExactly(queue, slots, { count, bytes: slots.bytes, floors });
    const ahead = await this.#claimFrom(queue, slots, { count, bytes: slots.bytes, floors });
    const taken = ahead.jobs.length;
    if (ahead.cut || taken === count) return ahead;
    const bytes = slots.bytes - ahead.bytes;
    // A claim brings one job, however large: where these have taken all the room, that is for the next caller.
    if (taken > 0 && bytes <= 0) return { ...ahead, cut: true };
    // Fewer than asked for: the floors may be hiding something.
    const rest = { count: count - taken, bytes, floors: null };
    const behind = await this.#claimExactly(queue, slots.after(taken), rest).catch((error: unknown) => {
      // The jobs claimed so far are leased: they must reach the caller, whatever happens to the second claim.
      if (taken === 0) throw error;
      return NOTHING;
    });
    if (behind.jobs.length === 0) return ahead;
    return { jobs: [...ahead.jobs, ...behind.jobs].sort(byClaimOrder), cut: behind.cut };
  }

  async #claimExactly(queue: string, slots: Slots, wanted: Wanted): Promise<Found> {
    const startedAt = performance.now();
    const found = await this.#claimFrom(queue, slots, wanted);
    this.#floors.exactClaimTook(queue, performance.now(), performance.now() - startedAt);
    return found;
  }

  async #claimFrom(queue: string, slots: Slots, { count, bytes, floors }: Wanted): Promise<Found> {
    const startedAt = performance.now();
    const contexts = this.#contexts.now();
    const answer = await this.#ask(queue, count, (passage) => {
      const wanted = {
        queue,
        max_jobs: passage?.most ?? count,
        gate_held: passage?.held ?? false,
        max_bytes: bytes,
        later_floor: floors?.later ?? '-infinity',
        known_contexts: contexts.size === 0 ? null : textArray([...contexts.keys()]),
      };
      if (passage?.shared) return slots.share({ ...turnsFor(passage.most), ...wanted }, !passage.counted);
      return slots.claim({
        ...floorArrays(floors),
        ...wanted,
      });
    });
    if (!answer?.ids) return NOTHING;
    if (answer.watched > 0) this.hub.announceEvents();
    const jobs = toJobs(queue, slots, answer, this.#contextOf(answer, contexts));
    this.#note(queue, jobs, answer, (performance.now() - startedAt) / 1000);
    await this.#markStarted(jobs);
    if (this.hub.hearsWorkflows) this.#announceWorkflows(jobs);
    const held = leased(jobs, slots, listIn<number>(answer.alone ?? null));
    return { jobs: held, cut: answer.cut, bytes: answer.payloads.length };
  }

  /** Through the gate of the queue, if it has settings that need one; `passage` is null where it has none. */
  async #ask(
    queue: string,
    count: number,
    statement: (passage: Passage | null) => Statement,
  ): Promise<ClaimAnswer | null> {
    if (this.gates.takesTurnsOnly(queue)) {
      const turns: Passage = { most: count, shared: true, counted: false, held: false };
      const [answer] = await this.db.run<ClaimAnswer>(statement(turns));
      if (!answer?.gated) return answer ?? null;
    } else if (!this.gates.isKnown(queue)) {
      const [answer] = await this.db.run<ClaimAnswer>(statement(null));
      if (!answer?.gated) return answer ?? null;
      this.gates.know(queue);
    }
    const passed = await this.gates.claim(queue, count, async (execute, passage) => {
      const [answer] = await execute<ClaimAnswer>(statement(passage));
      return { answer: answer!, taken: answer!.ids === null ? 0 : answer!.ids.split(',').length, at: answer!.now };
    });
    // The settings were taken away meanwhile.
    return passed === null ? this.#ask(queue, count, statement) : passed.answer;
  }

  /** The context of a job: it came with the answer, or was known before. */
  #contextOf(answer: ClaimAnswer, known: ReadonlyMap<string, string>): (key: string) => string {
    const came = contextsIn(answer);
    return (key) => {
      const context = came.get(key) ?? known.get(key)!;
      this.#contexts.used(key, context);
      return context;
    };
  }

  /**
   * Not part of the claim: a claim must never wait for the lock of a workflow. A missed mark is repaired when the first
   * step ends. Later steps of a workflow this process has marked need no statement.
   */
  async #markStarted(jobs: readonly JobRecord[]): Promise<void> {
    const fresh = new Map<string, string>();
    for (const { workflow_id: id, tenant_id: tenant, delivery_count: deliveries } of jobs) {
      if (id !== null && deliveries === 1 && !this.#started.has(id)) fresh.set(id, tenant);
    }
    if (fresh.size === 0) return;
    if (this.#started.size > MAX_STARTED_KEPT) this.#started.clear();
    for (const id of fresh.keys()) this.#started.add(id);
    const runs = { tenants: textArray([...fresh.values()]), ids: uuidArray([...fresh.keys()]) };
    await this.db.run(sql.mark_started(runs)).catch(() => undefined);
  }

  #announceWorkflows(jobs: readonly JobRecord[]): void {
    for (const { workflow_id: id } of jobs) if (id !== null) this.hub.announceWorkflow(id);
  }

  #note(queue: string, jobs: readonly ClaimedJob[], answer: ClaimAnswer, seconds: number): void {
    const { metrics, workers } = this.counters;
    metrics.claimed(jobs.length, seconds);
    const nowMs = Date.parse(toInstant(answer.now));
    const rated: string[] = [];
    for (const job of jobs) {
      const { config, scheduledMs, tenant_id: tenant, worker_id: worker } = job;
      if (config.limits !== undefined) rated.push(...ratedIdsOf(tenant, queue, config));
      noteWait(this.counters, job, nowMs);
      workers.seen(tenant, worker, queue);
      this.#floors.claimedUpTo(queue, config.priority, scheduledMs);
    }
    // Whoever gives out tokens has to know who was claimed.
    this.hub.announceLimits({ limits: rated, slept: false });
    if (answer.fell_due_up_to !== null) this.#floors.fellDueUpTo(queue, Math.floor(answer.fell_due_up_to));
    // Jobs that moved into claim order may be behind a floor there, in this process or another.
    for (const { priority, since } of listIn<{ priority: number; since: number }>(answer.moved)) {
      this.hub.announceWork(queue, priority, Math.floor(since));
    }
  }
}

interface Look {
  readonly gated: boolean;
  readonly heads: readonly Head[];
  readonly nextSecs: number;
}

interface PeekRow {
  readonly gated: boolean;
  /** Pairs of priority and instant, in JSON. */
  readonly heads: string | null;
  /** Until the next job falls due. */
  readonly next_secs: number | null;
}

const floorArrays = (floors: Floors | null) => ({
  floor_priorities: floors && int4Array(floors.priorities),
  floor_instants: floors && plainArray(floors.since),
});

const toHead = ([priority, at]: readonly [number, number]): Head => ({ priority, at });

export function byClaimOrder({ job: a }: HeldJob, { job: b }: HeldJob): number {
  return b.config.priority - a.config.priority || compare(a.scheduled_at, b.scheduled_at) || compare(a.id, b.id);
}

/** Without their Z, instants can be compared as text, however many fractional digits they have. */
const compare = (a: string, b: string): number => (a.replace('Z', '') < b.replace('Z', '') ? -1 : a === b ? 0 : 1);
