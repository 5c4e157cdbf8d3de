import type { QueueSettings, QueueSettingsInput } from '@millrace/contract';
import { bucketTokens, fullBucket, nextTokenSecs, refill, type Bucket, type Rate } from '../../domain/rates.js';
import type { GateStanding } from '@millrace/sdk/rules';
import { unavailable } from '../../domain/errors.js';
import type { Database, Execute } from '../../store/connection/database.js';
import { loadStatements } from '../../store/sql.js';
import type { Deed } from '../api.js';
import type { Audit } from '../shared/audit.js';
import type { Hub } from '../shared/hub.js';
import { settingsIn } from '../shared/queue-marks.js';
import { TenantLines } from './tenant-lines.js';

/**
 * What operators set for whole queues: limits, and whether tenants take turns. Jobs of such a queue are created, kept
 * and settled like any other; only its claims differ. A plain claim finds nothing there and says why, so a setting
 * holds from its commit on, in every process, and nothing is remembered that could be out of date. A claim through the
 * gate holds the row of the queue, counts what runs, and takes no more than there is room for: so no crash leaves
 * anything behind. Where tenants take turns and nothing is counted, no gate is held.
 */
const sql = loadStatements('leases/gates.sql');

/** Others hold a gate for the time of a claim. */
const BUSY_MS = 3;
const TRIES = 200;
/** Nobody may have told us that a job has ended. */
const FULL_MS = 1_000;
/** Jobs that end shortly after one another wake those who wait once. */
const TOGETHER_MS = 5;
const MOST_KNOWN = 1_000;

interface GateRow {
  readonly most: number | null;
  readonly rate_count: number | null;
  readonly rate_secs: number | null;
  readonly rate_burst: number | null;
  readonly tokens: number | null;
  readonly waited: boolean;
  /** Null: tenants do not take turns. */
  readonly share: boolean | null;
  readonly now: string;
  readonly elapsed_secs: number | null;
  readonly used: number;
}

/** What a claim may take of a queue with settings. */
export interface Passage {
  readonly most: number;
  /** Tenants take turns. */
  readonly shared: boolean;
  /** Jobs are counted one by one, so none may be bundled. */
  readonly counted: boolean;
  /** It holds the gate. */
  readonly held: boolean;
}

/** Claims what it may in the transaction, and says how many jobs that were. */
export type ClaimThrough<T> = (
  execute: Execute,
  passage: Passage,
) => Promise<{ readonly answer: T; readonly taken: number }>;

export class QueueGates {
  /** Queues that have settings, as far as this process has heard. */
  readonly #known = new Set<string>();
  /** Those of them where it matters that a job has ended. */
  readonly #counted = new Set<string>();
  readonly lines: TenantLines;
  /** Until when nobody gets through, by the monotonic clock of this process, unless something ends there. */
  readonly #closedUntil = new Map<string, number>();
  #waking: NodeJS.Timeout | null = null;
  #stopListening: (() => void) | null = null;

  constructor(
    private readonly db: Database,
    private readonly hub: Hub,
    private readonly audit: Audit,
    private readonly defaultQueue: string,
  ) {
    this.lines = new TenantLines(db, hub);
    hub.onAnyWork((queue) => this.#closedUntil.delete(queue));
  }

  isKnown(queue: string): boolean {
    return this.#known.has(queue);
  }

  /** Its tenants take turns and nothing is counted, so claims need not go one at a time. They say if that changes. */
  takesTurnsOnly(queue: string): boolean {
    return this.lines.isShared(queue) && !this.#counted.has(queue);
  }

  get inUse(): boolean {
    return this.#known.size > 0;
  }

  /** A claim has found that the queue has settings. */
  know(queue: string): void {
    if (this.#known.size < MOST_KNOWN) this.#known.add(queue);
  }

  /** Seconds until a claim of the queue is worth it, at least. */
  closedSecs(queue: string): number {
    return Math.max(0, (this.#closedUntil.get(queue) ?? 0) - performance.now()) / 1000;
  }

  /** Null: the queue has no settings any more. */
  async claim<T>(
    queue: string,
    wanted: number,
    through: ClaimThrough<T>,
  ): Promise<{ readonly answer: T | null } | null> {
    for (let tries = 0; tries < TRIES; tries++) {
      const passed = await this.db.transaction((execute) => this.#pass(execute, queue, wanted, through));
      if (passed !== 'busy') return passed;
      await pause(BUSY_MS);
    }
    throw unavailable('too many claims of one queue at a time; try again shortly');
  }

  /** Who asks does not hold the gate: it may be another one when the answer comes. */
  async standing(queue: string): Promise<GateStanding | null> {
    const statement = sql.gate_use({ queue, is_default: queue === this.defaultQueue });
    const [row] = await this.db.runPlanned<GateRow>(statement);
    if (!row) return null;
    const bucket = bucketOf(row);
    const isFull = row.most !== null && row.used >= row.most;
    const waits = bucket !== null && bucketTokens(bucket) === 0;
    return {
      running: isFull ? { used: row.used, most: row.most } : null,
      next: waits ? { rate: bucket.rate, secs: nextTokenSecs(bucket) ?? 0 } : null,
    };
  }

  settings(queue: string): Promise<QueueSettings> {
    return settingsOf(queue, this.db.run);
  }

  /** What is not given stays as it is; null removes. */
  async set(queue: string, { running, rate, share }: QueueSettingsInput, deed: Deed): Promise<QueueSettings> {
    const read = (execute: Execute): Promise<QueueSettings> => settingsOf(queue, execute);
    const settings = await this.audit.change(deed, 'set_queue', queue, read, async (execute) => {
      await execute(
        sql.put_settings({
          queue,
          running: running ?? null,
          count: rate?.count ?? null,
          secs: rate?.per_secs ?? null,
          burst: rate ? (rate.burst ?? 1) : null,
          share: share === 'tenant',
          sets_running: running !== undefined,
          sets_rate: rate !== undefined,
          sets_share: share !== undefined,
        }),
      );
      await execute(sql.drop_settings({ queue }));
      await execute(sql.tell_settings({ queue }));
    });
    if (share !== undefined) await this.learn();
    this.hub.hear({ queues: new Map([[queue, []]]), events: false, crons: null });
    return settings;
  }

  /**
   * For processes that create or settle jobs of such queues and never claim any: who waits elsewhere is told when one
   * ends, and jobs are sorted into the lines of their tenants.
   */
  async learn(): Promise<void> {
    const rows = await this.db.run<{ queue: string; counted: boolean; share: boolean | null }>(
      sql.limited_queues({ max_queues: MOST_KNOWN }),
    );
    for (const { queue, counted, share } of rows) {
      this.know(queue);
      this.#learn(queue, counted, share);
    }
    const known = new Set(rows.map(({ queue }) => queue));
    for (const queue of this.#known) if (!known.has(queue)) this.#forget(queue);
  }

  async stop(): Promise<void> {
    if (this.#waking) clearTimeout(this.#waking);
    this.#stopListening?.();
    await this.lines.stop();
  }

  async #pass<T>(
    execute: Execute,
    queue: string,
    wanted: number,
    through: ClaimThrough<T>,
  ): Promise<{ readonly answer: T | null } | null | 'busy'> {
    const [gate] = await execute<{ known: boolean; held: boolean }>(sql.hold_gate({ queue }));
    if (!gate?.known) {
      this.#forget(queue);
      return null;
    }
    if (!gate.held) return 'busy';
    const isDefault = queue === this.defaultQueue;
    const [row] = await execute<GateRow>(sql.gate_use({ queue, is_default: isDefault }));
    if (!row) return 'busy';
    const counted = row.most !== null || row.rate_count !== null;
    this.#learn(queue, counted, row.share);
    const bucket = bucketOf(row);
    const room = Math.max(
      0,
      Math.min(wanted, (row.most ?? Infinity) - row.used, bucket ? bucketTokens(bucket) : Infinity),
    );
    const passage = { most: room, shared: row.share !== null, counted, held: true };
    const { answer, taken } = room === 0 ? { answer: null, taken: 0 } : await through(execute, passage);
    if (bucket !== null) {
      bucket.tokens -= taken;
      const waited = taken === room && room < wanted;
      await execute(sql.keep_gate({ queue, tokens: bucket.tokens, now: row.now, waited }));
    }
    this.#note(queue, row, bucket, taken === room && room < wanted, taken);
    return { answer };
  }

  #note(queue: string, { most, used }: GateRow, bucket: Bucket | null, short: boolean, taken: number): void {
    if (!short) return;
    const full = most !== null && used + taken >= most;
    const tokenMs = bucket === null ? 0 : (nextTokenSecs(bucket) ?? 0) * 1000;
    this.#closedUntil.set(queue, performance.now() + Math.max(full ? FULL_MS : 0, tokenMs));
  }

  #learn(queue: string, counted: boolean, share: boolean | null): void {
    this.lines.know(queue, share);
    if (counted) this.#counted.add(queue);
    else this.#counted.delete(queue);
    if (this.#counted.size > 0) this.#stopListening ??= this.hub.onSettled(() => this.#wakeSoon());
    else this.#listenNoMore();
  }

  #forget(queue: string): void {
    this.#known.delete(queue);
    this.#closedUntil.delete(queue);
    this.#learn(queue, false, null);
  }

  #listenNoMore(): void {
    this.#stopListening?.();
    this.#stopListening = null;
  }

  /** Something has ended: here, and in the other processes, claims that wait look again. */
  #wakeSoon(): void {
    this.#waking ??= setTimeout(() => {
      this.#waking = null;
      for (const queue of this.#counted) this.hub.announceWork(queue, 0, null);
    }, TOGETHER_MS);
  }
}

function bucketOf(row: GateRow): Bucket | null {
  const { rate_count: count, rate_secs: perSecs, tokens, elapsed_secs: elapsedSecs, waited } = row;
  if (count === null || perSecs === null) return null;
  const rate: Rate = { count, perSecs, burst: row.rate_burst ?? 1 };
  if (tokens === null || elapsedSecs === null) return fullBucket(rate);
  return refill({ rate, tokens, elapsedSecs, waited, unclaimed: 0, gone: 0, refunded: 0 }, rate);
}

const NO_SETTINGS = { running: null, rate: null, share: null };

async function settingsOf(queue: string, execute: Execute): Promise<QueueSettings> {
  const [row] = await execute<{ settings: string | null }>(sql.queue_settings({ queue }));
  return { queue, ...NO_SETTINGS, ...settingsIn(row?.settings ?? null) };
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
