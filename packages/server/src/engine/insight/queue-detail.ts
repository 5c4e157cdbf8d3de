import { WALK_LIMIT, type QueueDepth, type QueueDetail } from '@millrace/contract';
import { slotsTaken } from '../../domain/slots-taken.js';
import { textArray } from '../../store/arrays.js';
import type { Database } from '../../store/connection/database.js';
import { toInstant, toInstantOrNull } from '../../store/rows.js';
import { loadStatements } from '../../store/sql.js';
import type { QueueDepths } from '../jobs/queue-depths.js';
import { AnswerCache } from '../shared/answer-cache.js';
import type { Offers } from '../shared/offers.js';
import { settingsIn } from '../shared/queue-marks.js';
import type { QueuePresence } from '../shared/queue-presence.js';

/** One queue as a tenant sees it: how deep it is, which tasks wait there, and which jobs are next. */
const sql = loadStatements('insight/queue-detail.sql');

/** How many tasks and how many jobs are named. */
const MAX_TASKS = 1_000;
const NEXT_SHOWN = 20;
/** How many leases are looked at to see how many jobs workers hold. */
const MAX_HELD = 100_000;

interface KnownRow {
  readonly paused_at: string | null;
  readonly paused_reason: string | null;
  readonly paused_by: string | null;
  readonly last_lease_at: string | null;
  readonly settings: string | null;
  readonly now: string;
}

interface TaskRow {
  readonly exact: boolean;
  /** Null in the one row of a queue without jobs. */
  readonly task_name: string | null;
  readonly waiting: number;
  readonly scheduled: number;
  readonly retrying: number;
  readonly retrying_later: number;
  readonly running: number;
}

/** Shares of the front of a queue that is too long to be counted; they change slowly. */
const SHARES_FRESH_MS = 10_000;

export class QueueDetails {
  readonly #tasks = new AnswerCache<TaskRow[]>(([first]) => (first?.exact === false ? SHARES_FRESH_MS : 0));

  constructor(
    private readonly db: Database,
    private readonly depths: QueueDepths,
    private readonly presence: QueuePresence,
    private readonly offers: Offers,
  ) {}

  async of(tenant: string, queue: string): Promise<QueueDetail> {
    const [depth, tasks, next, slots] = await Promise.all([
      this.#depth(tenant, queue),
      this.#byTask(tenant, queue),
      this.#next(tenant, queue),
      this.#slots(tenant, queue),
    ]);
    return { ...depth, ...tasks, next, slots };
  }

  /** Null: no worker says how many jobs it can hold. */
  async #slots(tenant: string, queue: string): Promise<QueueDetail['slots']> {
    const offers = (await this.offers.of(tenant, queue)).filter(({ slots }) => slots !== null);
    if (offers.length === 0) return null;
    const workers = textArray(offers.map(({ worker }) => worker));
    const statement = sql.queue_held({ queue, workers, max_rows: MAX_HELD });
    const rows = await this.db.count<{ worker: string; n: number }>({ tenant, statement });
    const held = new Map(rows.map(({ worker, n }) => [worker, n]));
    return {
      offered: offers.reduce((sum, { slots }) => sum + slots!, 0),
      in_use: offers.reduce((sum, { worker, slots }) => sum + slotsTaken(held.get(worker) ?? 0, slots!), 0),
    };
  }

  /** The same count as in the list of queues; a queue that holds nothing of the tenant's is all zeros. */
  async #depth(tenant: string, queue: string): Promise<QueueDepth> {
    const found = await this.depths.of(tenant, queue);
    if (found !== null) return found;
    const [known] = await this.db.read<KnownRow>({ tenant, statement: sql.queue_known({ queue }) });
    return {
      queue,
      pending: 0,
      scheduled: 0,
      running: 0,
      oldest_pending_age_secs: null,
      retrying: 0,
      retrying_later: 0,
      paused_at: toInstantOrNull(known?.paused_at ?? null),
      paused_reason: known?.paused_reason ?? null,
      paused_by: known?.paused_by ?? null,
      last_lease_at: known ? this.presence.lastLease(queue, known) : null,
      settings: settingsIn(known?.settings ?? null),
    };
  }

  async #byTask(tenant: string, queue: string): Promise<Pick<QueueDetail, 'by_task' | 'by_task_exact'>> {
    const statement = sql.queue_by_task({ tenant, queue, max_rows: WALK_LIMIT, max_tasks: MAX_TASKS });
    const { answer: rows } = await this.#tasks.ask(JSON.stringify([tenant, queue]), () =>
      this.db.count<TaskRow>({ tenant, statement }),
    );
    const by_task = rows.flatMap(({ exact: _, task_name, ...counts }) =>
      task_name === null ? [] : [{ task_name, ...counts }],
    );
    return { by_task, by_task_exact: rows[0]?.exact ?? true };
  }

  async #next(tenant: string, queue: string): Promise<QueueDetail['next']> {
    const statement = sql.queue_next({ tenant, queue, max_rows: WALK_LIMIT, max_jobs: NEXT_SHOWN });
    const rows = await this.db.read<QueueDetail['next'][number]>({ tenant, statement });
    return rows.map((row) => ({ ...row, scheduled_at: toInstant(row.scheduled_at) }));
  }
}
