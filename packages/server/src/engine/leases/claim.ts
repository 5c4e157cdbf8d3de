import { int4Array, plainArray, textArray, uuidArray } from '../../store/arrays.js';
import type { Database } from '../../store/connection/database.js';
import { toInstant } from '../../store/rows.js';
import { loadStatements, type Statement } from '../../store/sql.js';
import { holdInBundles, type HeldJob } from './bundle.js';
import { markClaim } from './claim-mark.js';
import type { QueueHead } from './idle-queues.js';
import { ClaimedJob, type OptionalFields } from './claimed-job.js';
import { contextKey, KnownContexts } from './known-contexts.js';
import type { Hub } from '../shared/hub.js';
import { ratedIdsOf } from '../shared/limit-id.js';
import { ClaimFloors, type Floors } from './claim-floors.js';
import type { Counters } from '../shared/counters.js';
import type { Offers } from '../shared/offers.js';
import type { QueuePresence } from '../shared/queue-presence.js';
import type { Passage, QueueGates } from './queue-gates.js';
import type { Slots } from './slots.js';
import { turnsFor } from './tenant-lines.js';
import type { CellHeads, Head } from '../../domain/heads.js';
import type { JobRecord } from '../../domain/records.js';
import type { LeaseRequest } from '../api.js';

/** Claiming: the only way into `running`, for the pool and for remote workers alike. */
const sql = loadStatements('leases/claim.sql');

/** One array per column, in JSON; the payloads as one text. */
interface ClaimAnswer {
  readonly watched: number;
  readonly now: string;
  readonly cut: boolean;
  /** The queue has limits, and nothing was claimed because the claim did not hold its gate. */
  readonly gated: boolean;
  /** Milliseconds since 1970. */
  readonly fell_due_up_to: number | null;
  readonly moved: string | null;
  /** Only the pool's claim says. */
  readonly alone?: string | null;
  readonly ids: string | null;
  readonly tenants: string;
  readonly tasks: string;
  readonly payloads: string;
  readonly optional_fields: string | null;
  /** The keys of the contexts, in JSON; `contexts` is their texts as one. */
  readonly context_keys: string | null;
  readonly contexts: string | null;
}

export interface Claim {
  /** In claim order, at most one per slot. */
  readonly jobs: HeldJob[];
  /** There are fewer jobs than slots because they are large: more are due. */
  readonly cut: boolean;
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

export class Claimer {
  readonly #floors = new ClaimFloors();
  readonly #contexts = new KnownContexts();
  readonly #started = new Set<string>();
  /** For queues with large jobs: how many to ask for, so that a claim does not lock hundreds of jobs to take five. */
  readonly #limits = new Map<string, number>();

  constructor(
    private readonly db: Database,
    private readonly hub: Hub,
    private readonly counters: Counters,
    private readonly presence: QueuePresence,
    private readonly offers: Offers,
    private readonly gates: QueueGates,
  ) {
    hub.onAnyWork((queue, news) => this.#floors.heard(queue, news));
  }

  async claim(queue: string, slots: Slots): Promise<Claim> {
    const count = Math.min(slots.count, this.#limits.get(queue) ?? Infinity);
    const { jobs, cut } = await this.#claimUpTo(queue, slots, count);
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
    return heads.map(({ queue, secs }) => ({ queue, secs: Math.max(secs, this.gates.closedSecs(queue)) }));
  }

  /** What a claim would find. Where several databases hold the queue, this tells which of them to claim from. */
  async peek(queue: string, count: number): Promise<CellHeads> {
    const [row] = await this.db.run<PeekRow>(sql.peek({ queue, max_jobs: count }));
    if (!row?.gated) return { gated: false, heads: parse<[number, number]>(row?.heads ?? null).map(toHead) };
    const secs = await this.nextDue(queue);
    return { gated: secs !== null && secs <= 0, heads: [] };
  }

  async #claimUpTo(queue: string, slots: Slots, count: number): Promise<Claim> {
    const floors = this.gates.lines.isShared(queue) ? null : this.#floors.floorsFor(queue, performance.now());
    if (!floors) return this.#claimExactly(queue, slots, { count, bytes: slots.bytes, floors });
    const ahead = await this.#claimFrom(queue, slots, { count, bytes: slots.bytes, floors });
    const taken = ahead.jobs.length;
    if (ahead.cut || taken === count) return ahead;
    // Fewer than asked for: the floors may be hiding something.
    const rest = { count: count - taken, bytes: Math.max(0, slots.bytes - ahead.bytes), floors: null };
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
        floor_priorities: floors && int4Array(floors.priorities),
        floor_instants: floors && plainArray(floors.since),
        ...wanted,
      });
    });
    if (!answer?.ids) return NOTHING;
    if (answer.watched > 0) this.hub.announceEvents();
    const jobs = toJobs(queue, slots, answer, this.#contextOf(answer, contexts));
    this.#note(queue, jobs, answer, (performance.now() - startedAt) / 1000);
    await this.#markStarted(jobs);
    if (this.hub.hearsWorkflows) this.#announceWorkflows(jobs);
    const held = leased(jobs, slots, parse<number>(answer.alone ?? null));
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
      return { answer: answer ?? null, taken: answer?.ids ? answer.ids.split(',').length : 0 };
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
    const { metrics, series, workers } = this.counters;
    metrics.claimed(jobs.length, seconds);
    const nowMs = Date.parse(toInstant(answer.now));
    const rated: string[] = [];
    for (const { config, scheduledMs, dueMs, tenant_id: tenant, task_name: task, worker_id: worker } of jobs) {
      if (config.limits !== undefined) rated.push(...ratedIdsOf(tenant, queue, config));
      const waitedSecs = Math.max(0, (nowMs - dueMs) / 1000);
      metrics.waited(waitedSecs);
      series.waited(tenant, queue, task, waitedSecs);
      workers.seen(tenant, worker, queue);
      this.#floors.claimedUpTo(queue, config.priority, scheduledMs);
    }
    // Whoever gives out tokens has to know who was claimed.
    this.hub.announceLimits({ limits: rated, slept: false });
    if (answer.fell_due_up_to !== null) this.#floors.fellDueUpTo(queue, Math.floor(answer.fell_due_up_to));
    // Jobs that moved into claim order may be behind a floor there, in this process or another.
    for (const { priority, since } of parse<{ priority: number; since: number }>(answer.moved)) {
      this.hub.announceWork(queue, priority, Math.floor(since));
    }
  }
}

interface PeekRow {
  readonly gated: boolean;
  /** Pairs of priority and instant, in JSON. */
  readonly heads: string | null;
}

const toHead = ([priority, at]: readonly [number, number]): Head => ({ priority, at });

export function byClaimOrder({ job: a }: HeldJob, { job: b }: HeldJob): number {
  return b.config.priority - a.config.priority || compare(a.scheduled_at, b.scheduled_at) || compare(a.id, b.id);
}

/** Without their Z, instants can be compared as text, however many fractional digits they have. */
const compare = (a: string, b: string): number => (a.replace('Z', '') < b.replace('Z', '') ? -1 : a === b ? 0 : 1);

const byNumber = (a: HeldJob, b: HeldJob): number => a.number - b.number;

const parse = <T>(text: string | null): T[] => (text === null ? [] : (JSON.parse(text) as T[]));

function toJobs(queue: string, slots: Slots, answer: ClaimAnswer, contextOf: (key: string) => string): ClaimedJob[] {
  const ids = answer.ids === null ? [] : answer.ids.split(',');
  const tenants = parse<string>(answer.tenants);
  const tasks = parse<string>(answer.tasks);
  // What a remote worker is sent lives no longer than the answer that it came in.
  const payloads = slots.bundle === null ? answer.payloads.split(SEPARATOR) : splitPayloads(answer.payloads);
  const optionalFields = new Map(parse<OptionalFields>(answer.optional_fields).map((fields) => [fields.n, fields]));
  const now = toInstant(answer.now);
  return ids.map((id, n) => {
    const fields = optionalFields.get(n + 1);
    const tenant = tenants[n] ?? tenants[0]!;
    const context =
      fields && fields.context !== null ? contextOf(contextKey(fields.workflow_id!, fields.context)) : null;
    return new ClaimedJob(id, tenant, queue, tasks[n]!, payloads[n]!, now, slots.holderOf(n), fields, context);
  });
}

interface ContextKey {
  readonly workflow_id: string;
  readonly version: number;
}

/** The contexts that came with the jobs: one string each, however many of the jobs receive it. */
function contextsIn({ context_keys: keys, contexts }: ClaimAnswer): ReadonlyMap<string, string> {
  const texts = contexts === null ? [] : splitPayloads(contexts);
  return new Map(
    parse<ContextKey>(keys).map(({ workflow_id, version }, n) => [contextKey(workflow_id, version), texts[n]!]),
  );
}

/** No JSON text contains this character: within strings it must be escaped, and outside them it is not white space. */
const SEPARATOR = '\x01';
const LONG_ANSWER = 256 * 1024;

/** A substring keeps the whole string in memory. Therefore each payload of a long answer is copied. */
function splitPayloads(payloads: string): string[] {
  const parts = payloads.split(SEPARATOR);
  return payloads.length < LONG_ANSWER || parts.length === 1
    ? parts
    : parts.map((part) => Buffer.from(part).toString());
}

/** `alone`: the numbers, from 1, of the jobs that have their own leases although the slots have a bundle. */
function leased(jobs: readonly ClaimedJob[], slots: Slots, alone: readonly number[]): HeldJob[] {
  const mark = slots.bundle === null ? null : markClaim(slots.bundle, jobs, slots.startable);
  const holdAlone = (job: ClaimedJob, k: number): HeldJob => {
    return { job, leaseToken: slots.tokenOf(k), bundle: null, position: 0, mark, number: k + 1 };
  };
  if (mark === null) return jobs.map(holdAlone);
  if (alone.length === 0) return holdInBundles(jobs, null, mark);
  const numbers = new Set(alone);
  const bundled = jobs.flatMap((_, k) => (numbers.has(k + 1) ? [] : [k + 1]));
  const held = [
    ...alone.map((number) => holdAlone(jobs[number - 1]!, number - 1)),
    ...holdInBundles(
      bundled.map((number) => jobs[number - 1]!),
      bundled,
      mark,
    ),
  ];
  return held.sort(byNumber);
}
