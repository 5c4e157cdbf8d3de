import { invalidField } from '../../domain/errors.js';
import type { AwaitedSignal, JsonText, Suspension } from '../../domain/records.js';
import { textArray } from '../../store/arrays.js';
import type { Database, Execute } from '../../store/connection/database.js';
import { toInstant } from '../../store/rows.js';
import { loadStatements } from '../../store/sql.js';
import type { LeaseKey } from '../leases/lease-key.js';
import type { Counters } from '../shared/counters.js';
import type { Hub } from '../shared/hub.js';
import { tenantOfLease } from './checkpoints.js';
import { endsOf } from './parents.js';
import { signalLock } from '../shared/signal-lock.js';

/**
 * Puts running jobs back to their queue, to be due at an instant, or when a signal comes or their children have ended.
 * What wakes them is the queue itself, the transaction of the signal, or whoever ends the last child: nothing is
 * remembered in a process.
 */
const sql = loadStatements('durable/waits.sql');
const family = loadStatements('durable/children.sql');

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

interface ChildRow {
  readonly name: string;
  readonly detached: boolean;
  readonly ended: boolean;
}

export class Suspender {
  constructor(
    private readonly db: Database,
    private readonly hub: Hub,
    private readonly counters: Counters,
    /** Bounds all checkpoints of a job together. */
    private readonly maxBytes: number,
  ) {}

  /** False: the lease is not held. */
  async suspend(lease: LeaseKey, suspension: Suspension): Promise<boolean> {
    const row = await this.#wait(lease, suspension);
    if (row === null) return false;
    const { tenant, worker, queue, priority, scheduled_at: at } = row;
    this.counters.workers.seen(tenant, worker, queue);
    this.hub.announceEnd(queue);
    if (row.looks === null) this.hub.announceWork(queue, priority, Date.parse(toInstant(at)));
    else this.hub.announceLimits({ limits: JSON.parse(row.looks) as string[], slept: true });
    if (row.watched > 0) this.hub.announceEvents();
    return true;
  }

  #wait(lease: LeaseKey, suspension: Suspension): Promise<SuspendedRow | null> {
    const { signal, children } = suspension;
    if (children !== null)
      return this.db.transaction((execute) => this.#awaitChildren(execute, lease, suspension, children));
    if (signal !== null) return this.db.transaction((execute) => this.#awaitSignal(execute, lease, suspension, signal));
    return this.#suspend(this.db.run, lease, suspension);
  }

  /** Under the lock that whoever ends a child takes: what has ended is seen here, and what has not is counted there. */
  async #awaitChildren(
    execute: Execute,
    lease: LeaseKey,
    suspension: Suspension,
    names: readonly string[],
  ): Promise<SuspendedRow | null> {
    const { id } = lease;
    const [held] = await execute(family.take_lease({ id, token: lease.token }));
    if (!held) return null;
    await execute(family.lock_parent({ id }));
    const found = await execute<ChildRow>(family.children_by_name({ id, names: textArray(names) }));
    checkAwaited(names, found);
    const pending = found.filter(({ ended }) => !ended).length;
    const answer = pending === 0 ? await endsOf(execute, id, names, this.maxBytes) : null;
    const row = await this.#suspend(execute, lease, suspension, answer);
    if (pending > 0) {
      const { checkpoint } = suspension;
      await execute(family.await_children({ id, checkpoint, names: textArray(names), pending }));
    }
    return row;
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

  /** `answer`: what the job waits for has come already. */
  async #suspend(
    execute: Execute,
    { id, token }: LeaseKey,
    suspension: Suspension,
    answer: JsonText | null = null,
  ): Promise<SuspendedRow | null> {
    const { checkpoint, until, delaySecs, signal, children } = suspension;
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
        children: children && textArray(children),
        answer,
      }),
    );
    return row ?? null;
  }
}

function checkAwaited(names: readonly string[], found: readonly ChildRow[]): void {
  const known = new Map(found.map((child) => [child.name, child]));
  const unknown = names.find((name) => !known.has(name));
  if (unknown !== undefined) throw invalidField('wait.children', `the job has no child ${JSON.stringify(unknown)}`);
  const detached = names.find((name) => known.get(name)!.detached);
  if (detached !== undefined)
    throw invalidField('wait.children', `the child ${JSON.stringify(detached)} is detached, and cannot be waited for`);
}
