import { unavailable } from '../../domain/errors.js';
import type { JobLogs } from '../../domain/records.js';
import { textArray, uuidArray } from '../../store/arrays.js';
import type { Database } from '../../store/connection/database.js';
import { loadStatements } from '../../store/sql.js';
import { TenantQuota } from '../shared/tenant-quota.js';

/**
 * Calls that wait for lines of a job. A call hears at once of what this process writes, and once per LOOK_MS one
 * statement asks after the jobs of all calls together. Where nobody waits, nothing is asked.
 */
const sql = loadStatements('jobs/logs.sql');

const LOOK_MS = 1_000;
export const MAX_FOLLOWERS = 1_000;
export const MAX_FOLLOWERS_PER_TENANT = 200;

/** One look at a log. */
export interface Read {
  readonly page: JobLogs;
  /** How many lines were written of the job. */
  readonly total: number;
  /** Nobody need wait any longer. */
  readonly isOver: boolean;
}

/** One call. Invariant: `total` is what it has read; -1 before it has. */
interface Follower {
  readonly tenant: string;
  readonly id: string;
  total: number;
  /** There may be more than it has read. */
  hasNews: boolean;
  wake: () => void;
}

interface NewsRow {
  readonly id: string;
  readonly total: number;
  readonly ended: boolean;
}

export class LogFollowers {
  readonly #byJob = new Map<string, Set<Follower>>();
  readonly #quota = new TenantQuota({ inAll: MAX_FOLLOWERS, perTenant: MAX_FOLLOWERS_PER_TENANT });
  #timer: NodeJS.Timeout | null = null;
  #looking = false;

  constructor(private readonly db: Database) {}

  /** What was read when there were lines, or the job had ended, or the time was up. */
  async follow(
    tenant: string,
    id: string,
    waitSecs: number,
    signal: AbortSignal,
    read: () => Promise<Read>,
  ): Promise<JobLogs> {
    if (!this.#quota.take(tenant, 1)) throw unavailable('too many logs are being followed; try again shortly');
    const follower: Follower = { tenant, id, total: -1, hasNews: false, wake: () => undefined };
    const deadline = performance.now() + waitSecs * 1_000;
    this.#enter(follower);
    try {
      for (;;) {
        follower.hasNews = false;
        const { page, total, isOver } = await read();
        follower.total = total;
        const leftMs = deadline - performance.now();
        if (isOver || leftMs <= 0 || signal.aborted) return page;
        if (!follower.hasNews) await pause(follower, leftMs, signal);
      }
    } finally {
      this.#leave(follower);
      this.#quota.giveBack(tenant, 1);
    }
  }

  /** This process has written lines of the job. */
  wake(id: string): void {
    for (const follower of this.#byJob.get(id) ?? []) tell(follower);
  }

  #enter(follower: Follower): void {
    const followers = this.#byJob.get(follower.id);
    if (followers) followers.add(follower);
    else this.#byJob.set(follower.id, new Set([follower]));
    this.#arm();
  }

  #leave(follower: Follower): void {
    const followers = this.#byJob.get(follower.id);
    followers?.delete(follower);
    if (followers?.size === 0) this.#byJob.delete(follower.id);
    if (this.#byJob.size > 0 || this.#timer === null) return;
    clearTimeout(this.#timer);
    this.#timer = null;
  }

  #arm(): void {
    if (this.#looking || this.#byJob.size === 0) return;
    this.#timer ??= setTimeout(() => void this.#look(), LOOK_MS);
  }

  async #look(): Promise<void> {
    this.#timer = null;
    this.#looking = true;
    const followers = [...this.#byJob.values()].flatMap((each) => [...each].slice(0, 1));
    try {
      const rows = await this.db.run<NewsRow>(
        sql.log_news({
          tenants: textArray(followers.map(({ tenant }) => tenant)),
          ids: uuidArray(followers.map(({ id }) => id)),
        }),
      );
      for (const { id, total, ended } of rows)
        for (const follower of this.#byJob.get(id) ?? [])
          if (ended || (follower.total >= 0 && total > follower.total)) tell(follower);
    } catch {
      // The database is away. The next look comes in a second.
    }
    this.#looking = false;
    this.#arm();
  }
}

function tell(follower: Follower): void {
  follower.hasNews = true;
  follower.wake();
}

async function pause(follower: Follower, ms: number, signal: AbortSignal): Promise<void> {
  await new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, ms);
    const wake = (): void => {
      clearTimeout(timer);
      resolve();
    };
    follower.wake = wake;
    signal.addEventListener('abort', wake, { once: true });
  });
  follower.wake = () => undefined;
}
