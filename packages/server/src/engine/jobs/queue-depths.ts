import { QUEUE_PAGE_LIMITS, SERIES_PER_TENANT, type QueueDepth } from '@millrace/contract';
import type { Database } from '../../store/connection/database.js';
import { toInstantOrNull } from '../../store/rows.js';
import { loadStatements } from '../../store/sql.js';
import { AnswerCache, freshMsOfCount } from '../shared/answer-cache.js';
import { cursorAfter, NAME_CURSOR, readCursor } from '../shared/cursor.js';
import { markedNow, settingsIn } from '../shared/queue-marks.js';
import type { QueuePresence } from '../shared/queue-presence.js';
import type { QueueListQuery, QueuePage } from '../api.js';

/**
 * What a tenant's queues hold, by name. Tenants name queues as they like, so they decide how many there are: an answer
 * has a page of them. The first page is read whole and kept for a while where it is costly to count; it serves smaller
 * pages and, unless there are more queues than it holds, questions about one queue. Idle queues are read along with the
 * others, so that one count serves those who want them and those who do not.
 */
const sql = loadStatements('jobs/queue-depths.sql');

const MOST = QUEUE_PAGE_LIMITS.maximum;
/** Before the first name. */
const START = '';

/** `waiting`: how many jobs were looked at. */
type DepthRow = Omit<QueueDepth, 'settings'> & {
  readonly settings: string | null;
  readonly now: string;
  readonly waiting: number;
};

export class QueueDepths {
  readonly #first = new AnswerCache<readonly DepthRow[]>(([row]) => freshMsOfCount(row?.waiting ?? 0));

  constructor(
    private readonly db: Database,
    private readonly presence: QueuePresence,
  ) {}

  async page(tenant: string, { limit, cursor, idle }: QueueListQuery): Promise<QueuePage> {
    const after = cursor === null ? null : readCursor(NAME_CURSOR, cursor).at;
    const found = after === null ? await this.#firstPage(tenant) : await this.#read(tenant, after, limit + 1);
    const rows = idle ? found : found.filter(holdsJobs);
    const queues = rows.slice(0, limit).map((row) => this.#toDepth(row));
    const last = queues.at(-1);
    const hasMore = rows.length > limit && last !== undefined;
    return { queues, nextCursor: hasMore ? cursorAfter(NAME_CURSOR, last.queue) : null };
  }

  /** The same count as in the list; null: the queue holds nothing of the tenant's. */
  async of(tenant: string, queue: string): Promise<QueueDepth | null> {
    const first = (await this.#firstPage(tenant)).filter(holdsJobs);
    let found = first.find((row) => row.queue === queue);
    if (found === undefined && first.length > MOST) {
      [found] = (await this.#read(tenant, START, 1, queue)).filter(holdsJobs);
    }
    return found === undefined ? null : this.#toDepth(found);
  }

  async #firstPage(tenant: string): Promise<readonly DepthRow[]> {
    const { answer, isKept } = await this.#first.ask(tenant, () => this.#read(tenant, START, MOST + 1));
    return isKept ? markedNow(this.db, tenant, answer) : answer;
  }

  /** So many of those that hold jobs, if there are, however many idle ones stand between them. */
  #read(tenant: string, after: string, count: number, only: string | null = null): Promise<DepthRow[]> {
    const limit = count + SERIES_PER_TENANT;
    return this.db.count<DepthRow>({ tenant, statement: sql.queue_depths({ tenant, after, limit, only }) });
  }

  #toDepth({ now, waiting: _, ...depth }: DepthRow): QueueDepth {
    return {
      ...depth,
      paused_at: toInstantOrNull(depth.paused_at),
      settings: settingsIn(depth.settings),
      last_lease_at: this.presence.lastLease(depth.queue, { now, last_lease_at: depth.last_lease_at }),
    };
  }
}

const holdsJobs = ({ pending, scheduled, running }: DepthRow): boolean => pending + scheduled + running > 0;
