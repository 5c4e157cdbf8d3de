import { SIGNALS_STORED } from '@millrace/contract';
import { MillraceError } from '../../domain/errors.js';
import { isTerminal } from '../../domain/job-state.js';
import type { Signal } from '../../domain/records.js';
import type { Database, Execute } from '../../store/connection/database.js';
import { loadStatements } from '../../store/sql.js';
import type { EngineMetrics } from '../shared/counters.js';
import type { Hub } from '../shared/hub.js';
import type { Effect, Idempotency } from '../shared/idempotency.js';
import type { SignalDelivery } from '../api.js';
import type { JobLookup } from './job-lookup.js';
import { signalLock } from '../shared/signal-lock.js';
import { announceWoken, wakeJob } from './wake.js';

/**
 * Signals: each goes to the oldest job that waits for it, or is kept for the next one that does. It makes no difference
 * which of the two comes first, because both take the same lock.
 */
const sql = loadStatements('durable/waits.sql');

/** How old a tenant's count of stored signals may be. */
const COUNT_MS = 15_000;
/** Tenants whose counts are remembered. */
const MAX_COUNTS = 10_000;

interface WaitRow {
  readonly job_id: string;
  readonly checkpoint: string;
}

export class Signals {
  /** How many signals each tenant has stored, and when that was counted. */
  readonly #counts = new Map<string, { readonly n: number; readonly at: number }>();

  constructor(
    private readonly db: Database,
    private readonly hub: Hub,
    private readonly keys: Idempotency,
    private readonly jobs: JobLookup,
    private readonly metrics: Pick<EngineMetrics, 'untaken'>,
  ) {}

  async send(tenant: string, signal: Signal, idempotencyKey: string | null): Promise<SignalDelivery> {
    await this.#checkCount(tenant);
    const effect = (execute: Execute): Promise<Effect> => this.#deliver(execute, tenant, signal);
    if (idempotencyKey === null) {
      const { ids, committed } = await this.db.transaction(effect);
      committed();
      return { delivered: ids.length > 0, replayed: false };
    }
    const use = { tenant, key: idempotencyKey, kind: `signal ${signalLock(tenant, signal.name, signal.key)}` };
    const { ids, replayed } = await this.keys.once(use, effect);
    return { delivered: ids.length > 0, replayed };
  }

  async #deliver(execute: Execute, tenant: string, signal: Signal): Promise<Effect> {
    const { name, key, value } = signal;
    await execute(sql.lock_signal({ signal: signalLock(tenant, name, key) }));
    for (;;) {
      const [wait] = await execute<WaitRow>(sql.first_wait({ tenant, signal: name, key }));
      if (!wait) break;
      const { job_id: id, checkpoint } = wait;
      const woken = await wakeJob(execute, { tenant, id }, checkpoint, `{"value":${value}}`);
      if (woken?.stored) return { ids: [id], committed: () => announceWoken(this.hub, woken) };
      // A wait that was over by its deadline is gone now. A job that was not found has ended, or is being claimed.
      if (!woken?.acted && (await this.#hasEnded(execute, id))) await execute(sql.drop_wait({ id }));
    }
    await this.#store(execute, tenant, signal);
    return { ids: [], committed: () => undefined };
  }

  async #hasEnded(execute: Execute, id: string): Promise<boolean> {
    const owner = await this.jobs.owner(id, execute);
    return owner === null || isTerminal(owner.status);
  }

  async #store(execute: Execute, tenant: string, signal: Signal): Promise<void> {
    const { name, key, value, ttlSecs, jobId, workflowId = null } = signal;
    const max = SIGNALS_STORED.perKey;
    const to = { tenant, signal: name, key, job_id: jobId, workflow_id: workflowId };
    const values = { ...to, value, ttl_secs: ttlSecs, max_stored: max };
    const [stored] = await execute(sql.store_signal(values));
    if (!stored) throw this.#refused(`${max} signals of this name and key are stored, and nobody takes them`);
  }

  /** By a count that is some seconds old at most: exact would cost more than it is worth. */
  async #checkCount(tenant: string): Promise<void> {
    const max = SIGNALS_STORED.perTenant;
    let count = this.#counts.get(tenant);
    if (count === undefined || performance.now() - count.at > COUNT_MS) {
      const [row] = await this.db.run<{ n: number }>(sql.count_signals({ tenant, max_stored: max }));
      count = { n: row?.n ?? 0, at: performance.now() };
      if (this.#counts.size >= MAX_COUNTS) this.#counts.clear();
      this.#counts.set(tenant, count);
    }
    if (count.n >= max) throw this.#refused(`${max} signals are stored, and nobody takes them`);
  }

  #refused(message: string): MillraceError {
    this.metrics.untaken('refused', 1);
    return new MillraceError('conflict', message);
  }
}
