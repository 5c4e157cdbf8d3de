import type { AwaitedSignal, Suspension } from '../../domain/records.js';
import type { Database, Execute } from '../../store/connection/database.js';
import { toInstant } from '../../store/rows.js';
import { loadStatements } from '../../store/sql.js';
import type { LeaseKey } from '../leases/lease-key.js';
import type { Counters } from '../shared/counters.js';
import type { Hub } from '../shared/hub.js';
import { tenantOfLease } from './checkpoints.js';
import { signalLock } from './signal-lock.js';

/**
 * Puts running jobs back to their queue, to be due at an instant or when a signal comes. What wakes them is the queue
 * itself, or the transaction of the signal: nothing is remembered in a process.
 */
const sql = loadStatements('durable/waits.sql');

interface SuspendedRow {
  readonly tenant: string;
  readonly worker: string | null;
  readonly queue: string;
  readonly priority: number;
  readonly scheduled_at: string;
  readonly watched: number;
  /** Of a job with limits: where to look whether somebody may be let in. */
  readonly looks: string | null;
}

export class Suspender {
  constructor(
    private readonly db: Database,
    private readonly hub: Hub,
    private readonly counters: Counters,
  ) {}

  /** False: the lease is not held. */
  async suspend(lease: LeaseKey, suspension: Suspension): Promise<boolean> {
    const { signal } = suspension;
    const row =
      signal === null
        ? await this.#suspend(this.db.run, lease, suspension)
        : await this.db.transaction((execute) => this.#awaitSignal(execute, lease, suspension, signal));
    if (row === null) return false;
    const { tenant, worker, queue, priority, scheduled_at: at } = row;
    this.counters.workers.seen(tenant, worker, queue);
    if (row.looks === null) this.hub.announceWork(queue, priority, Date.parse(toInstant(at)));
    else this.hub.announceLimits({ limits: JSON.parse(row.looks) as string[], slept: true });
    if (row.watched > 0) this.hub.announceEvents();
    return true;
  }

  async #awaitSignal(
    execute: Execute,
    lease: LeaseKey,
    suspension: Suspension,
    { name, key }: AwaitedSignal,
  ): Promise<SuspendedRow | null> {
    const tenant = await tenantOfLease(execute, lease);
    if (tenant === null) return null;
    await execute(sql.lock_signal({ signal: signalLock(tenant, name, key ?? lease.id) }));
    return this.#suspend(execute, lease, suspension);
  }

  async #suspend(execute: Execute, { id, token }: LeaseKey, suspension: Suspension): Promise<SuspendedRow | null> {
    const { checkpoint, until, delaySecs, signal } = suspension;
    const [row] = await execute<SuspendedRow>(
      sql.suspend({
        id,
        token,
        checkpoint,
        until,
        delay_secs: delaySecs,
        signal: signal?.name ?? null,
        key: signal === null ? null : (signal.key ?? id),
        ask: signal?.ask ?? null,
      }),
    );
    return row ?? null;
  }
}
