import {
  COUNT_EXACT_LIMIT,
  QUEUE_TENANTS_SHOWN,
  WORKFLOW_STATUSES,
  type AdminOverview,
  type AdminQueue,
  type AdminTenant,
  type Count,
  type QueueDepth,
  type WorkflowStatus,
} from '@millrace/contract';
import type { Database } from '../../store/connection/database.js';
import { toInstant, toInstantOrNull } from '../../store/rows.js';
import { loadStatements } from '../../store/sql.js';
import type { CursorQuery, TenantPage } from '../api.js';
import { cursorAfter, NAME_CURSOR, readCursor } from '../shared/cursor.js';
import { freshMsOfCount, AnswerCache, type CachedAnswer } from '../shared/answer-cache.js';
import { markedNow, settingsIn } from '../shared/queue-marks.js';
import type { QueuePresence } from '../shared/queue-presence.js';

/** All tenants together, for operators. Every count has a bound, whatever the tables hold. */
const sql = loadStatements('insight/all-tenants.sql');

/**
 * Reads that are not for a tenant take turns with those of tenants under these names, one count at a time under each.
 * What is quick does not wait for the walk. No tenant has an empty name, or one with a NUL: the database refuses it.
 */
const ALL_TENANTS = '';
const WALK_TURN = '\0walk';
const TENANTS_TURN = '\0tenants';
/** How many waiting jobs, and how many running ones, are looked at for one answer. */
const MAX_WALKED = 1_000_000;
/** How many queues one answer names. */
const MAX_QUEUES = 1_000;
/** How many waiting jobs of a tenant are counted. */
const TENANT_WALK = COUNT_EXACT_LIMIT;
/** Tenants in which rows past retention are looked for. */
const RETENTION_TENANTS = 2_000;

type End = 'completed' | 'failed' | 'cancelled';
type Totals = Readonly<Record<End | 'created', number>>;

interface OverviewRow {
  readonly tenants: number;
  readonly dead_letters: number;
  /** In JSON, like what follows. */
  readonly ended: string;
  readonly workflows: string;
  readonly totals: string;
}

interface DepthRow extends Omit<QueueDepth, 'settings'> {
  readonly settings: string | null;
  readonly queues: number;
  readonly now: string;
  /** In JSON. */
  readonly tenants: string;
}

/** What waits and runs, counted at one moment. */
interface Depths {
  /** All queues together, those that are not named as well. */
  readonly all: Omit<DepthRow, 'queue' | 'tenants'>;
  readonly named: readonly DepthRow[];
}

export class AllTenants {
  readonly #depths = new AnswerCache<Depths>(({ all }) => freshMsOfCount(all.pending + all.scheduled));

  constructor(
    private readonly db: Database,
    private readonly presence: QueuePresence,
    private readonly retentionHours: number | null,
  ) {}

  async overview(): Promise<Omit<AdminOverview, 'version'>> {
    const overview = sql.overview_of_all({ max_tenants: MAX_WALKED, max_rows: COUNT_EXACT_LIMIT });
    const [{ answer }, [row], paused, pastRetention] = await Promise.all([
      this.#askDepths(),
      this.db.count<OverviewRow>({ tenant: ALL_TENANTS, statement: overview }),
      this.db.read<{ queue: string }>({
        tenant: ALL_TENANTS,
        statement: sql.paused_queues({ max_queues: MAX_QUEUES }),
      }),
      this.oldestPastRetention(),
    ]);
    if (row === undefined) throw new Error('the overview came back empty');
    const { now, queues, oldest_pending_age_secs } = answer.all;
    return {
      now: toInstant(now),
      tenants: row.tenants,
      queues,
      paused_queues: paused.map(({ queue }) => queue),
      ...countsOf(answer.all, row),
      oldest_pending_age_secs,
      oldest_past_retention_secs: pastRetention === null ? null : Math.floor(pastRetention),
    };
  }

  /** The overview and the list of queues share one count: their figures agree, and all that waits is walked once. */
  #askDepths(): Promise<CachedAnswer<Depths>> {
    const bounds = { max_rows: MAX_WALKED, max_queues: MAX_QUEUES, max_tenants: QUEUE_TENANTS_SHOWN };
    return this.#depths.ask(ALL_TENANTS, async () => {
      const query = { tenant: WALK_TURN, statement: sql.depths_by_queue_of_all(bounds) };
      const [all, ...named] = await this.db.count<DepthRow>(query);
      if (all === undefined) throw new Error('the depths of queues came back empty');
      return { all, named };
    });
  }

  /** How far the oldest finished job is past its retention, in seconds; null: none is. */
  async oldestPastRetention(): Promise<number | null> {
    if (this.retentionHours === null) return null;
    const statement = sql.oldest_past_retention({ hours: this.retentionHours, max_tenants: RETENTION_TENANTS });
    const [row] = await this.db.count<{ secs: number | null }>({ tenant: ALL_TENANTS, statement });
    return row?.secs ?? null;
  }

  async queues(): Promise<readonly AdminQueue[]> {
    const { answer, isKept } = await this.#askDepths();
    const rows = isKept ? await markedNow(this.db, ALL_TENANTS, answer.named) : answer.named;
    return rows.map(({ now, tenants, queues: _, ...depth }) => ({
      ...depth,
      paused_at: toInstantOrNull(depth.paused_at),
      settings: settingsIn(depth.settings),
      last_lease_at: this.presence.lastLease(depth.queue, { now, last_lease_at: depth.last_lease_at }),
      tenants: JSON.parse(tenants) as AdminTenant[],
    }));
  }

  async tenants({ limit, cursor }: CursorQuery): Promise<TenantPage> {
    const after = cursor === null ? '' : (readCursor(NAME_CURSOR, cursor).at ?? '');
    const statement = sql.tenants_of_all({
      after,
      max_tenants: limit + 1,
      max_waiting: TENANT_WALK,
      max_running: MAX_WALKED,
    });
    const found = await this.db.count<AdminTenant>({ tenant: TENANTS_TURN, statement });
    const tenants = found.slice(0, limit);
    const last = tenants.at(-1);
    const hasMore = found.length > limit && last !== undefined;
    return { tenants, nextCursor: hasMore ? cursorAfter(NAME_CURSOR, last.tenant_id) : null };
  }
}

function countsOf(all: Depths['all'], row: OverviewRow): Pick<AdminOverview, 'jobs' | 'dead_letters' | 'workflows'> {
  const totals = JSON.parse(row.totals) as Totals;
  const { pending, scheduled, retrying, retrying_later, running } = all;
  const counted = pending + scheduled;
  const waiting = (part: number): Count => {
    if (counted <= MAX_WALKED) return { n: part, exact: true };
    const unfinished = totals.created - totals.completed - totals.failed - totals.cancelled - running;
    return { n: Math.round((part / counted) * Math.max(unfinished, counted)), exact: false };
  };
  const ended = new Map(Object.entries(JSON.parse(row.ended) as Record<string, number>));
  const isWhole = sumOf(ended) <= COUNT_EXACT_LIMIT;
  const end = (status: End): Count =>
    isWhole
      ? { n: ended.get(status) ?? 0, exact: true }
      : { n: Math.max(totals[status], ended.get(status) ?? 0), exact: false };
  const workflows = new Map(Object.entries(JSON.parse(row.workflows) as Record<string, number>));
  const flowsAreWhole = sumOf(workflows) <= COUNT_EXACT_LIMIT;
  const isAll = row.dead_letters <= COUNT_EXACT_LIMIT;
  return {
    jobs: {
      // In a queue's depth, a job that is retried counts among those that wait as well; here it is in one state.
      pending: waiting(pending - (retrying - retrying_later)),
      scheduled: waiting(scheduled - retrying_later),
      retrying: waiting(retrying),
      running: { n: running, exact: running <= MAX_WALKED },
      completed: end('completed'),
      failed: end('failed'),
      cancelled: end('cancelled'),
    },
    dead_letters: isAll
      ? { n: row.dead_letters, exact: true }
      : { n: Math.max(totals.failed, COUNT_EXACT_LIMIT), exact: false },
    workflows: Object.fromEntries(
      WORKFLOW_STATUSES.map((status) => [status, { n: workflows.get(status) ?? 0, exact: flowsAreWhole }]),
    ) as Record<WorkflowStatus, Count>,
  };
}

const sumOf = (counts: ReadonlyMap<string, number>): number => [...counts.values()].reduce((sum, n) => sum + n, 0);
