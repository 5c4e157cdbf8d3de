import { DEFAULT_JOB_CONFIG, type JobConfig } from '@millrace/contract';
import { int4Array, plainArray, textArray, uuidArray } from '../store/arrays.js';
import type { Database } from '../store/database.js';
import { toInstant } from '../store/rows.js';
import { loadStatements } from '../store/sql.js';
import type { Hub } from './hub.js';
import { Lanes, type Floors } from './lanes.js';
import type { Ledger } from './ledger.js';
import type { JobRecord, LeasedJob } from './types.js';

/** Claiming: the one way into `running`, for the pool and for remote workers alike. */
const sql = loadStatements('lease.sql', ['claim', 'next_due']);
const workflowSql = loadStatements('workflows.sql', ['mark_started']);

/** The k-th job claimed stands under the k-th slot's token, for that many seconds. */
export interface Slot {
  readonly token: string;
  readonly leaseSecs: number;
}

type ClaimedRow = [
  id: string,
  tenant: string,
  task: string,
  payload: string,
  config: JobConfig | null,
  metadata: string | null,
  priority: number,
  retryCount: number,
  deliveryCount: number,
  createdAt: string,
  scheduledAt: string,
  error: string | null,
  key: string | null,
  workflowId: string | null,
  step: string | null,
];

interface ClaimAnswer {
  readonly watched: number;
  readonly now: string;
  readonly jobs: string | null;
}

const MAX_STARTED_KEPT = 50_000;

export class Claimer {
  readonly #lanes = new Lanes();
  readonly #started = new Set<string>();

  constructor(
    private readonly db: Database,
    private readonly hub: Hub,
    private readonly ledger: Ledger,
  ) {
    hub.onLanes((queue, news) => this.#lanes.heard(queue, news));
  }

  /** In claim order, at most one a slot. */
  async claim(queue: string, slots: readonly Slot[]): Promise<LeasedJob[]> {
    const startedAt = performance.now();
    const floors = this.#lanes.floorsFor(queue, startedAt);
    const claimed = await this.#claimFrom(queue, slots, floors);
    // Short of what was asked: the floors may be hiding something.
    if (floors && claimed.length < slots.length) {
      return [...claimed, ...(await this.#claimExactly(queue, slots.slice(claimed.length)))];
    }
    if (!floors) this.#lanes.exactClaimTook(queue, performance.now(), performance.now() - startedAt);
    return claimed;
  }

  /** Seconds until the next waiting job of the queue falls due (not above 0: it is due), or null when none waits. */
  async nextDue(queue: string): Promise<number | null> {
    const [row] = await this.db.run<{ secs: number | null }>(sql.next_due, [queue]);
    return row?.secs ?? null;
  }

  async #claimExactly(queue: string, slots: readonly Slot[]): Promise<LeasedJob[]> {
    const startedAt = performance.now();
    const claimed = await this.#claimFrom(queue, slots, null);
    this.#lanes.exactClaimTook(queue, performance.now(), performance.now() - startedAt);
    return claimed;
  }

  async #claimFrom(queue: string, slots: readonly Slot[], floors: Floors | null): Promise<LeasedJob[]> {
    const startedAt = performance.now();
    const [answer] = await this.db.run<ClaimAnswer>(sql.claim, [
      queue,
      floors && int4Array(floors.priorities),
      floors && plainArray(floors.since),
      uuidArray(slots.map((slot) => slot.token)),
      int4Array(slots.map((slot) => slot.leaseSecs)),
    ]);
    if (!answer?.jobs) return [];
    const rows = JSON.parse(answer.jobs) as ClaimedRow[];
    if (answer.watched > 0) this.hub.announceEvents();
    this.#note(queue, rows, answer.now, (performance.now() - startedAt) / 1000);
    await this.#markStarted(rows);
    const now = toInstant(answer.now);
    return rows.map((row, index) => ({ job: toRunningJob(queue, row, now), leaseToken: slots[index]?.token ?? '' }));
  }

  /**
   * Not part of the claim: a claim must never wait for the lock of a workflow. What fails here is put right when the first step ends. Later
   * steps of a workflow this process has marked need no statement.
   */
  async #markStarted(rows: readonly ClaimedRow[]): Promise<void> {
    const fresh = new Map<string, string>();
    for (const [, tenant, , , , , , , deliveryCount, , , , , workflowId] of rows) {
      if (workflowId !== null && deliveryCount === 1 && !this.#started.has(workflowId)) fresh.set(workflowId, tenant);
    }
    if (fresh.size === 0) return;
    if (this.#started.size > MAX_STARTED_KEPT) this.#started.clear();
    for (const id of fresh.keys()) this.#started.add(id);
    const values = [textArray([...fresh.values()]), uuidArray([...fresh.keys()])];
    await this.db.run(workflowSql.mark_started, values).catch(() => undefined);
  }

  #note(queue: string, rows: readonly ClaimedRow[], now: string, seconds: number): void {
    const { metrics } = this.ledger;
    metrics.claimed(rows.length, seconds);
    const nowMs = Date.parse(toInstant(now));
    for (const [, , , , , , priority, , , , scheduledAt] of rows) {
      const scheduledMs = Date.parse(toInstant(scheduledAt));
      metrics.waited(Math.max(0, (nowMs - scheduledMs) / 1000));
      this.#lanes.claimedUpTo(queue, priority, scheduledMs);
    }
  }
}

function toRunningJob(queue: string, row: ClaimedRow, now: string): JobRecord {
  const [
    id,
    tenant,
    task,
    payload,
    config,
    metadata,
    ,
    retryCount,
    deliveryCount,
    createdAt,
    scheduledAt,
    error,
    key,
    workflowId,
    step,
  ] = row;
  return {
    id,
    tenant_id: tenant,
    queue_name: queue,
    task_name: task,
    payload,
    config: config ?? DEFAULT_JOB_CONFIG,
    metadata: metadata ?? '{}',
    status: 'running',
    result: null,
    error_message: error,
    retry_count: retryCount,
    delivery_count: deliveryCount,
    created_at: toInstant(createdAt),
    scheduled_at: toInstant(scheduledAt),
    started_at: now,
    completed_at: null,
    next_retry_at: null,
    idempotency_key: key,
    workflow_id: workflowId,
    workflow_step_id: step,
  };
}
