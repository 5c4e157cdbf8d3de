import type { TerminalJobStatus } from '@millrace/contract';
import { forbidden, unavailable } from '../../domain/errors.js';
import { bucketOfId, isUuid } from '../../domain/ids.js';
import { isTerminal } from '../../domain/job-state.js';
import type { JobRecord } from '../../domain/records.js';
import { int4Array, textArray, uuidArray } from '../../store/arrays.js';
import type { Database } from '../../store/connection/database.js';
import { loadStatements } from '../../store/sql.js';
import type { WaitQuery, WaitResult } from '../api.js';
import type { Hub, SettledNews } from '../shared/hub.js';
import { TenantQuota } from '../shared/tenant-quota.js';
import type { Reads } from './reads.js';

/**
 * Waiting for jobs to end. Nothing is written for it: a call hears at once of what this process settles, and once per
 * LOOK_MS one statement asks after the jobs of all calls together. Where nobody waits, nothing is asked.
 *
 * What is waited for is bounded, per process and per tenant: a call that finds no room is refused (503), since one that
 * was answered at once would be repeated at once.
 */
const sql = loadStatements('jobs/waits.sql');

const LOOK_MS = 1_000;
/** Jobs that are waited for, counted once per call. */
export const MAX_AWAITED = 10_000;
export const MAX_AWAITED_PER_TENANT = 5_000;

/** One call. Invariant: a job is pending only once it is known to be the tenant's. */
interface Waiter {
  readonly tenant: string;
  readonly ids: readonly string[];
  readonly isOver: (waiter: Waiter) => boolean;
  readonly pending: Set<string>;
  readonly ended: Map<string, TerminalJobStatus>;
  /** What was heard before it was known whose job it is. */
  readonly heard: Map<string, TerminalJobStatus>;
  wake: (() => void) | null;
}

interface EndRow {
  readonly id: string;
  readonly status: TerminalJobStatus | null;
}

const IS_OVER = {
  all: ({ pending }: Waiter): boolean => pending.size === 0,
  any: ({ pending, ended }: Waiter): boolean => pending.size === 0 || ended.size > 0,
};

export class JobWaits {
  readonly #waiters = new Set<Waiter>();
  readonly #byJob = new Map<string, Set<Waiter>>();
  readonly #awaited = new TenantQuota({ inAll: MAX_AWAITED, perTenant: MAX_AWAITED_PER_TENANT });
  #timer: NodeJS.Timeout | null = null;
  #looking = false;
  #unsubscribe: (() => void) | null = null;

  constructor(
    private readonly db: Database,
    private readonly hub: Hub,
    private readonly reads: Reads,
  ) {}

  /** Calls that wait at this moment. */
  get waiting(): number {
    return this.#waiters.size;
  }

  /** The job when it has ended, or as it is after that long or when the signal fires. */
  async job(tenant: string, id: string, waitSecs: number, signal: AbortSignal): Promise<JobRecord> {
    if (waitSecs === 0 || !isUuid(id)) return this.reads.job(tenant, id);
    return this.#with(tenant, [id.toLowerCase()], IS_OVER.all, async (waiter) => {
      const job = await this.reads.job(tenant, id);
      if (isTerminal(job.status)) return job;
      this.#learn(waiter, [{ id: job.id, status: null }]);
      await this.#pause(waiter, waitSecs, signal);
      return this.reads.job(tenant, id);
    });
  }

  async jobs(tenant: string, { ids, until, waitSecs }: WaitQuery, signal: AbortSignal): Promise<WaitResult> {
    const asked = new Map(ids.map((id) => [isUuid(id) ? id.toLowerCase() : id, id]));
    const keys = [...asked.keys()];
    const known = keys.filter(isUuid);
    const isOver = IS_OVER[until];
    const look = async (waiter: Waiter): Promise<WaitResult> => {
      await this.#read(waiter);
      await this.#refuseOthers(waiter);
      if (waitSecs > 0 && !isOver(waiter)) {
        await this.#pause(waiter, waitSecs, signal);
        if (!isOver(waiter) && !signal.aborted) await this.#read(waiter);
      }
      const { ended, pending } = waiter;
      return {
        ended: keys.flatMap((id) => (ended.has(id) ? [{ id, status: ended.get(id)! }] : [])),
        pending: keys.filter((id) => pending.has(id)),
        missing: keys.filter((id) => !ended.has(id) && !pending.has(id)).map((id) => asked.get(id)!),
      };
    };
    return waitSecs === 0
      ? look(newWaiter(tenant, known, isOver))
      : this.#with(tenant, known, isOver, look, keys.length);
  }

  /**
   * A waiter is listed before its jobs are read: whatever ends after that is heard of. `asked`: how many ids the call
   * holds, malformed ones included.
   */
  async #with<T>(
    tenant: string,
    ids: readonly string[],
    isOver: Waiter['isOver'],
    work: (waiter: Waiter) => Promise<T>,
    asked = ids.length,
  ): Promise<T> {
    if (!this.#awaited.take(tenant, asked)) throw unavailable('too many jobs are being waited for; try again shortly');
    const waiter = newWaiter(tenant, ids, isOver);
    this.#enter(waiter);
    try {
      return await work(waiter);
    } finally {
      this.#leave(waiter);
      this.#awaited.giveBack(tenant, asked);
    }
  }

  #enter(waiter: Waiter): void {
    this.#waiters.add(waiter);
    for (const id of waiter.ids) {
      const waiters = this.#byJob.get(id);
      if (waiters) waiters.add(waiter);
      else this.#byJob.set(id, new Set([waiter]));
    }
    this.#unsubscribe ??= this.hub.onSettled((news) => this.#hear(news));
    this.#arm();
  }

  #leave(waiter: Waiter): void {
    this.#waiters.delete(waiter);
    for (const id of waiter.ids) {
      const waiters = this.#byJob.get(id);
      waiters?.delete(waiter);
      if (waiters?.size === 0) this.#byJob.delete(id);
    }
    if (this.#waiters.size > 0) return;
    this.#unsubscribe?.();
    this.#unsubscribe = null;
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
  }

  #hear({ id, outcome }: SettledNews): void {
    if (outcome !== 'completed' && outcome !== 'failed' && outcome !== 'cancelled') return;
    for (const waiter of this.#byJob.get(id) ?? []) hear(waiter, id, outcome);
  }

  async #read(waiter: Waiter): Promise<void> {
    const { tenant, ids } = waiter;
    const asked = ids.filter((id) => !waiter.ended.has(id));
    if (asked.length === 0) return;
    const statement = sql.ends_of({ tenants: textArray(asked.map(() => tenant)), ids: uuidArray(asked) });
    const rows = await this.db.read<EndRow>({ tenant, statement });
    waiter.pending.clear();
    this.#learn(waiter, rows);
  }

  #learn(waiter: Waiter, rows: readonly EndRow[]): void {
    for (const { id, status } of rows) {
      const end = status ?? waiter.heard.get(id) ?? null;
      if (end === null) waiter.pending.add(id);
      else waiter.ended.set(id, end);
    }
  }

  async #refuseOthers({ tenant, ids, pending, ended }: Waiter): Promise<void> {
    const missing = ids.filter((id) => !pending.has(id) && !ended.has(id));
    if (missing.length === 0) return;
    const statement = sql.owned_among({ ids: uuidArray(missing), buckets: int4Array(missing.map(bucketOfId)) });
    const others = await this.db.read({ tenant, statement });
    if (others.length > 0) throw forbidden('one of these jobs belongs to another tenant');
  }

  /** Until it is over, its time is up or the signal fires. */
  async #pause(waiter: Waiter, waitSecs: number, signal: AbortSignal): Promise<void> {
    if (waiter.isOver(waiter) || signal.aborted) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, waitSecs * 1000);
      const wake = (): void => {
        clearTimeout(timer);
        resolve();
      };
      waiter.wake = wake;
      signal.addEventListener('abort', wake, { once: true });
    });
    waiter.wake = null;
  }

  #arm(): void {
    if (this.#looking || this.#waiters.size === 0) return;
    this.#timer ??= setTimeout(() => void this.#lookForAll(), LOOK_MS);
  }

  async #lookForAll(): Promise<void> {
    this.#timer = null;
    this.#looking = true;
    const tenants = new Map<string, string>();
    for (const { tenant, pending } of this.#waiters) for (const id of pending) tenants.set(id, tenant);
    try {
      const rows = tenants.size === 0 ? [] : await this.#endedAmong(tenants);
      for (const { id, status } of rows) for (const waiter of this.#byJob.get(id) ?? []) hear(waiter, id, status!);
    } catch {
      // The database is away. The next look comes in a second.
    }
    this.#looking = false;
    this.#arm();
  }

  #endedAmong(tenants: ReadonlyMap<string, string>): Promise<EndRow[]> {
    return this.db.run<EndRow>(
      sql.ended_among({ tenants: textArray([...tenants.values()]), ids: uuidArray([...tenants.keys()]) }),
    );
  }
}

const newWaiter = (tenant: string, ids: readonly string[], isOver: Waiter['isOver']): Waiter => ({
  tenant,
  ids,
  isOver,
  pending: new Set(),
  ended: new Map(),
  heard: new Map(),
  wake: null,
});

function hear(waiter: Waiter, id: string, status: TerminalJobStatus): void {
  waiter.heard.set(id, status);
  if (!waiter.pending.delete(id)) return;
  waiter.ended.set(id, status);
  if (waiter.isOver(waiter)) waiter.wake?.();
}
