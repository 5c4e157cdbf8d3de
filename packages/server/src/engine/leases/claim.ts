import { int4Array, plainArray, textArray, uuidArray } from '../../store/arrays.js';
import type { Database } from '../../store/database.js';
import { toInstant } from '../../store/rows.js';
import { loadStatements } from '../../store/sql.js';
import { formBundles, type HeldJob } from './bundle.js';
import { ClaimedJob, type OptionalFields } from './claimed-job.js';
import type { Hub } from '../shared/hub.js';
import { ClaimFloors, type Floors } from './claim-floors.js';
import type { Counters } from '../shared/counters.js';
import type { Slots } from './slots.js';
import type { JobRecord } from '../../domain/records.js';

/** Claiming: the one way into `running`, for the pool and for remote workers alike. */
const sql = loadStatements('lease.sql', ['claim', 'next_due']);
const workflowSql = loadStatements('workflows.sql', ['mark_started']);

/** Arrays in JSON, one a column. */
interface ClaimAnswer {
  readonly watched: number;
  readonly now: string;
  readonly alone: string | null;
  readonly ids: string | null;
  readonly tenants: string;
  readonly tasks: string;
  readonly payloads: string;
  readonly optional_fields: string | null;
  readonly contexts: string | null;
}

const MAX_STARTED_KEPT = 50_000;

export class Claimer {
  readonly #floors = new ClaimFloors();
  readonly #started = new Set<string>();

  constructor(
    private readonly db: Database,
    private readonly hub: Hub,
    private readonly counters: Counters,
  ) {
    hub.onLanes((queue, news) => this.#floors.heard(queue, news));
  }

  /** In claim order, at most one a slot. */
  async claim(queue: string, slots: Slots): Promise<HeldJob[]> {
    const startedAt = performance.now();
    const floors = this.#floors.floorsFor(queue, startedAt);
    const claimed = await this.#claimFrom(queue, slots, floors);
    // Short of what was asked: the floors may be hiding something.
    if (floors && claimed.length < slots.count) {
      const behind = await this.#claimExactly(queue, slots.after(claimed.length));
      return behind.length === 0 ? claimed : [...claimed, ...behind].sort(byClaimOrder);
    }
    if (!floors) this.#floors.exactClaimTook(queue, performance.now(), performance.now() - startedAt);
    return claimed;
  }

  /** Seconds until the next waiting job of the queue falls due (not above 0: it is due), or null when none waits. */
  async nextDue(queue: string): Promise<number | null> {
    const [row] = await this.db.run<{ secs: number | null }>(sql.next_due, [queue]);
    return row?.secs ?? null;
  }

  async #claimExactly(queue: string, slots: Slots): Promise<HeldJob[]> {
    const startedAt = performance.now();
    const claimed = await this.#claimFrom(queue, slots, null);
    this.#floors.exactClaimTook(queue, performance.now(), performance.now() - startedAt);
    return claimed;
  }

  async #claimFrom(queue: string, slots: Slots, floors: Floors | null): Promise<HeldJob[]> {
    const startedAt = performance.now();
    const [answer] = await this.db.run<ClaimAnswer>(sql.claim, [
      queue,
      floors && int4Array(floors.priorities),
      floors && plainArray(floors.since),
      slots.tokens,
      slots.secs,
      slots.bundle,
    ]);
    if (!answer?.ids) return [];
    if (answer.watched > 0) this.hub.announceEvents();
    const jobs = toJobs(queue, answer);
    this.#note(queue, jobs, answer.now, (performance.now() - startedAt) / 1000);
    await this.#markStarted(jobs);
    return leased(jobs, slots, parse<number>(answer.alone));
  }

  /**
   * Not part of the claim: a claim must never wait for the lock of a workflow. What fails here is put right when the first step ends. Later
   * steps of a workflow this process has marked need no statement.
   */
  async #markStarted(jobs: readonly JobRecord[]): Promise<void> {
    const fresh = new Map<string, string>();
    for (const { workflow_id: id, tenant_id: tenant, delivery_count: deliveries } of jobs) {
      if (id !== null && deliveries === 1 && !this.#started.has(id)) fresh.set(id, tenant);
    }
    if (fresh.size === 0) return;
    if (this.#started.size > MAX_STARTED_KEPT) this.#started.clear();
    for (const id of fresh.keys()) this.#started.add(id);
    const values = [textArray([...fresh.values()]), uuidArray([...fresh.keys()])];
    await this.db.run(workflowSql.mark_started, values).catch(() => undefined);
  }

  #note(queue: string, jobs: readonly ClaimedJob[], now: string, seconds: number): void {
    const { metrics } = this.counters;
    metrics.claimed(jobs.length, seconds);
    const nowMs = Date.parse(toInstant(now));
    for (const { config, scheduledMs } of jobs) {
      metrics.waited(Math.max(0, (nowMs - scheduledMs) / 1000));
      this.#floors.claimedUpTo(queue, config.priority, scheduledMs);
    }
  }
}

function byClaimOrder({ job: a }: HeldJob, { job: b }: HeldJob): number {
  return b.config.priority - a.config.priority || compare(a.scheduled_at, b.scheduled_at) || compare(a.id, b.id);
}

/** Instants without their Z compare as text does, however many digits of a second they have. */
const compare = (a: string, b: string): number => (a.replace('Z', '') < b.replace('Z', '') ? -1 : a === b ? 0 : 1);

const parse = <T>(text: string | null): T[] => (text === null ? [] : (JSON.parse(text) as T[]));

function toJobs(queue: string, answer: ClaimAnswer): ClaimedJob[] {
  const ids = parse<string>(answer.ids);
  const tenants = parse<string>(answer.tenants);
  const tasks = parse<string>(answer.tasks);
  const payloads = parse<string>(answer.payloads);
  const optionalFields = new Map(parse<OptionalFields>(answer.optional_fields).map((each) => [each[0], each]));
  const contexts = new Map(
    parse<[string, number, string]>(answer.contexts).map(([id, version, text]) => [`${id}/${version}`, text]),
  );
  const now = toInstant(answer.now);
  return ids.map((id, n) => {
    const optional = optionalFields.get(n + 1);
    const context = optional && optional[10] !== null ? contexts.get(`${optional[8]}/${optional[10]}`)! : null;
    return new ClaimedJob(id, tenants[n]!, queue, tasks[n]!, payloads[n]!, now, optional, context);
  });
}

/** `alone` are the numbers, from 1, of those that are held each for itself though the slots have a bundle. */
function leased(jobs: readonly JobRecord[], slots: Slots, alone: readonly number[]): HeldJob[] {
  const { bundle: token } = slots;
  if (token === null) return jobs.map((job, k) => ({ job, leaseToken: slots.tokenOf(k), bundle: null, place: 0 }));
  const numbers = new Set(alone);
  const all = jobs.map((job, k) => {
    const leaseToken = numbers.has(k + 1) ? slots.tokenOf(k) : token;
    return { job, leaseToken, bundle: null, place: 0 };
  });
  formBundles(token, numbers.size === 0 ? all : all.filter((_, k) => !numbers.has(k + 1)));
  return all;
}
