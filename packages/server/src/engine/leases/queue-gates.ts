import { setTimeout as sleep } from 'node:timers/promises';
import type { QueueSettings, QueueSettingsInput } from '@millrace/contract';
import { bucketTokens, fullBucket, nextTokenSecs, refill, type Bucket, type Rate } from '../../domain/rates.js';
import type { GateStanding } from '@millrace/sdk/rules';
import { textArray } from '../../store/arrays.js';
import type { Database, Execute } from '../../store/connection/database.js';
import { isLockTimeout } from '../../store/failures.js';
import { listIn, secsBetween } from '../../store/rows.js';
import { loadStatements } from '../../store/sql.js';
import type { AuditStamp } from '../api.js';
import type { Audit } from '../shared/audit.js';
import type { Hub } from '../shared/hub.js';
import { settingsIn } from '../shared/queue-marks.js';
import { GateOpenings } from './gate-openings.js';
import { TenantLines } from './tenant-lines.js';

/**
 * What operators set for whole queues: limits, and whether tenants take turns. Jobs of such a queue are created, kept
 * and settled like any other; only its claims differ. A plain claim finds nothing there and says why, so a setting
 * holds from its commit on, in every process, and nothing is remembered that could be out of date. A claim through the
 * gate holds the row of the queue, counts what runs, and takes no more than there is room for: so no crash leaves
 * anything behind. Where tenants take turns and nothing is counted, no gate is held.
 */
const sql = loadStatements('leases/gates.sql');

/** Others hold a gate for the time of a claim. Whoever waits for it is served in turn, but holds a connection. */
const PATIENCE_MS = 250;
/** So many claims of this process wait at a time; others only try. */
const MOST_WAITING = 2;
const IMPATIENCE_MS = 1;
/** When a claim is tried again that did not get hold of its gate. */
const BUSY_MS = 20;
/** Nobody may have told us that a job has ended. */
const FULL_MS = 1_000;
const MOST_KNOWN = 1_000;
/** How long new settings wait for claims that have not seen them: longer than a claim may take. */
const UNDER_WAY_MS = 10_000;
const LOOK_MS = 5;

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

/** Claims what it may in the transaction, and says how many jobs that were, and when they started. */
export type ClaimThrough<T> = (
  execute: Execute,
  passage: Passage,
) => Promise<{ readonly answer: T; readonly taken: number; readonly at: string }>;

/** Others have held the gate all the time. */
class GateBusy extends Error {}

export class QueueGates {
  /** Queues that have settings, as far as this process has heard. */
  readonly #known = new Set<string>();
  readonly lines: TenantLines;
  readonly openings: GateOpenings;
  #waiting = 0;

  constructor(
    private readonly db: Database,
    private readonly hub: Hub,
    private readonly audit: Audit,
  ) {
    this.lines = new TenantLines(db, hub);
    this.openings = new GateOpenings(hub);
  }

  isKnown(queue: string): boolean {
    return this.#known.has(queue);
  }

  /** Its tenants take turns and nothing is counted, so claims need not go one at a time. They say if that changes. */
  takesTurnsOnly(queue: string): boolean {
    return this.lines.isShared(queue) && !this.openings.isCounted(queue);
  }

  get inUse(): boolean {
    return this.#known.size > 0;
  }

  /** A claim has found that the queue has settings. */
  know(queue: string): void {
    if (this.#known.size < MOST_KNOWN) this.#known.add(queue);
  }

  /** Null: the queue has no settings any more. Without an answer nothing may be claimed now. */
  async claim<T>(
    queue: string,
    wanted: number,
    through: ClaimThrough<T>,
  ): Promise<{ readonly answer: T | null } | null> {
    const from = performance.now();
    const patienceMs = this.#waiting < MOST_WAITING ? PATIENCE_MS : IMPATIENCE_MS;
    this.#waiting++;
    try {
      return await this.db.transaction((execute) => this.#pass(execute, queue, wanted, patienceMs, through));
    } catch (error) {
      if (!(error instanceof GateBusy)) throw error;
      this.openings.close(queue, BUSY_MS, from);
      return { answer: null };
    } finally {
      this.#waiting--;
    }
  }

  /** Who asks does not hold the gate: it may be another one when the answer comes. */
  async standing(queue: string): Promise<GateStanding | null> {
    const [row] = await this.db.runPlanned<GateRow>(sql.gate_use({ queue }));
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
  async set(queue: string, { running, rate, share }: QueueSettingsInput, stamp: AuditStamp): Promise<QueueSettings> {
    const read = (execute: Execute): Promise<QueueSettings> => settingsOf(queue, execute);
    const settings = await this.audit.change(stamp, 'set_queue', queue, read, async (execute) => {
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
    if (settings.running !== null || settings.rate !== null) await this.#claimsBefore();
    if (share !== undefined) await this.learn();
    this.hub.hear({ queues: new Map([[queue, []]]), opened: [queue], events: false, crons: null });
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

  /** Resolves when the claims that began before the settings were there are over. */
  async #claimsBefore(): Promise<void> {
    const until = performance.now() + UNDER_WAY_MS;
    let left = await this.#claimsUnderWay(null);
    while (left.length > 0 && performance.now() < until) {
      await sleep(LOOK_MS);
      left = await this.#claimsUnderWay(left);
    }
  }

  async #claimsUnderWay(only: readonly string[] | null): Promise<string[]> {
    const statement = sql.claims_under_way({ only: only && textArray(only) });
    const [row] = await this.db.runPlanned<{ transactions: string }>(statement);
    return listIn<string>(row?.transactions);
  }

  async stop(): Promise<void> {
    this.openings.stop();
    await this.lines.stop();
  }

  async #pass<T>(
    execute: Execute,
    queue: string,
    wanted: number,
    patienceMs: number,
    through: ClaimThrough<T>,
  ): Promise<{ readonly answer: T | null } | null> {
    const from = performance.now();
    const [gate] = await execute(sql.hold_gate({ queue, patience_ms: String(patienceMs) })).catch((error: unknown) => {
      throw isLockTimeout(error) ? new GateBusy() : error;
    });
    const [row] = gate ? await execute<GateRow>(sql.gate_use({ queue })) : [];
    if (!row) {
      this.#forget(queue);
      return null;
    }
    const counted = row.most !== null || row.rate_count !== null;
    this.#learn(queue, counted, row.share);
    const found = bucketOf(row);
    const room = Math.max(
      0,
      Math.min(wanted, (row.most ?? Infinity) - row.used, found ? bucketTokens(found) : Infinity),
    );
    const passage = { most: room, shared: row.share !== null, counted, held: true };
    const { answer, taken, at } = room === 0 ? nothingAt(row.now) : await through(execute, passage);
    const isShort = taken === room && room < wanted;
    const bucket = bucketOf(row, secsBetween(row.now, at));
    if (bucket !== null) {
      bucket.tokens -= taken;
      await execute(sql.keep_gate({ queue, tokens: bucket.tokens, now: at, waited: isShort }));
    }
    if (isShort) this.openings.close(queue, closedMs(row, bucket, taken), from);
    return { answer };
  }

  #learn(queue: string, counted: boolean, share: boolean | null): void {
    this.lines.know(queue, share);
    this.openings.know(queue, counted);
  }

  #forget(queue: string): void {
    this.#known.delete(queue);
    this.#learn(queue, false, null);
  }
}

const nothingAt = (at: string) => ({ answer: null, taken: 0, at });

/** For how long nobody gets through, unless a job ends. */
function closedMs({ most, used }: GateRow, bucket: Bucket | null, taken: number): number {
  const isFull = most !== null && used + taken >= most;
  const tokenMs = bucket === null ? 0 : (nextTokenSecs(bucket) ?? 0) * 1000;
  return Math.max(isFull ? FULL_MS : 0, tokenMs);
}

/** What is in the bucket, as of so many seconds after the row was read: its jobs start then. */
function bucketOf(row: GateRow, laterSecs = 0): Bucket | null {
  const { rate_count: count, rate_secs: perSecs, tokens, elapsed_secs: secs, waited } = row;
  if (count === null || perSecs === null) return null;
  const rate: Rate = { count, perSecs, burst: row.rate_burst ?? 1 };
  if (tokens === null || secs === null) return fullBucket(rate);
  const elapsedSecs = secs + laterSecs;
  return refill({ rate, tokens, elapsedSecs, waited, unclaimed: 0, gone: 0, refunded: 0 }, rate);
}

const NO_SETTINGS = { running: null, rate: null, share: null };

async function settingsOf(queue: string, execute: Execute): Promise<QueueSettings> {
  const [row] = await execute<{ settings: string | null }>(sql.queue_settings({ queue }));
  return { queue, ...NO_SETTINGS, ...settingsIn(row?.settings ?? null) };
}
