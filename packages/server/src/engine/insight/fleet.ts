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
import type { Database } from '../../store/database.js';
import { toInstant, toInstantOrNull } from '../../store/rows.js';
import { loadStatements } from '../../store/sql.js';
import type { TenantListQuery, TenantPage } from '../api.js';
import { cursorAfter, NAME_CURSOR, readCursor } from '../shared/cursor.js';
import { freshMsOfCount, KeptAnswers } from '../shared/kept-answers.js';
import { markedNow } from '../shared/queue-marks.js';
import type { QueuePresence } from '../shared/queue-presence.js';

/** All tenants together, for operators. Every count has a bound, whatever the tables hold. */
const sql = loadStatements('admin.sql', [
  'fleet_overview',
  'paused_queues',
  'oldest_past_retention',
  'fleet_queues',
  'fleet_tenants',
]);

/** Reads that are not for a tenant take turns with those of tenants under this name; no tenant has an empty name. */
const FLEET = '';
/** How many waiting jobs, and how many running ones, are looked at for one answer. */
const FLEET_WALK = 1_000_000;
/** How many queues one answer names. */
const MAX_QUEUES = 1_000;
/** How many waiting jobs of a tenant are counted. */
const TENANT_WALK = COUNT_EXACT_LIMIT;
/** Tenants in which rows past retention are looked for. */
const RETENTION_TENANTS = 2_000;

type End = 'completed' | 'failed' | 'cancelled';
type Totals = Readonly<Record<End | 'created', number>>;

interface OverviewRow {
  readonly now: string;
  readonly tenants: number;
  readonly queues: number;
  readonly paused_queues: string[];
  readonly waiting: number;
  readonly pending: number;
  readonly scheduled: number;
  readonly retrying: number;
  readonly running: number;
  readonly dead_letters: number;
  /** In JSON, like what follows. */
  readonly ended: string;
  readonly workflows: string;
  readonly totals: string;
  readonly oldest_pending_age_secs: number | null;
}

type QueueRow = QueueDepth & { readonly now: string; readonly tenants: string };

export class Fleet {
  readonly #overviews = new KeptAnswers<OverviewRow[]>(([row]) => freshMsOfCount(row?.waiting ?? 0));
  readonly #depths = new KeptAnswers<QueueRow[]>((rows) =>
    freshMsOfCount(rows.reduce((sum, { pending, scheduled }) => sum + pending + scheduled, 0)),
  );

  constructor(
    private readonly db: Database,
    private readonly presence: QueuePresence,
    private readonly retentionHours: number | null,
  ) {}

  async overview(): Promise<Omit<AdminOverview, 'version'>> {
    const values = [FLEET_WALK, COUNT_EXACT_LIMIT, MAX_QUEUES];
    const [{ answer, isKept }, pastRetention] = await Promise.all([
      this.#overviews.ask(FLEET, () =>
        this.db.count<OverviewRow>({ tenant: FLEET, statement: sql.fleet_overview, values }),
      ),
      this.oldestPastRetention(),
    ]);
    const [row] = answer;
    if (row === undefined) throw new Error('the overview came back empty');
    const { tenants, queues, oldest_pending_age_secs } = row;
    const paused_queues = isKept ? await this.#pausedNow() : row.paused_queues;
    return {
      now: toInstant(row.now),
      tenants,
      queues,
      paused_queues,
      ...countsOf(row),
      oldest_pending_age_secs,
      oldest_past_retention_secs: pastRetention === null ? null : Math.floor(pastRetention),
    };
  }

  /** What is paused is known at once, however old the counts are. */
  async #pausedNow(): Promise<string[]> {
    const query = { tenant: FLEET, statement: sql.paused_queues, values: [MAX_QUEUES] };
    return (await this.db.read<{ queue: string }>(query)).map(({ queue }) => queue);
  }

  /** How far the oldest finished job is past its retention, in seconds; null: none is. */
  async oldestPastRetention(): Promise<number | null> {
    if (this.retentionHours === null) return null;
    const values = [this.retentionHours, RETENTION_TENANTS];
    const query = { tenant: FLEET, statement: sql.oldest_past_retention, values };
    const [row] = await this.db.count<{ secs: number | null }>(query);
    return row?.secs ?? null;
  }

  async queues(): Promise<readonly AdminQueue[]> {
    const values = [FLEET_WALK, MAX_QUEUES, QUEUE_TENANTS_SHOWN];
    const { answer, isKept } = await this.#depths.ask(FLEET, () =>
      this.db.count<QueueRow>({ tenant: FLEET, statement: sql.fleet_queues, values }),
    );
    const rows = isKept ? await markedNow(this.db, FLEET, answer) : answer;
    return rows.map(({ now, tenants, ...depth }) => ({
      ...depth,
      paused_at: toInstantOrNull(depth.paused_at),
      last_lease_at: this.presence.lastLease(depth.queue, { now, last_lease_at: depth.last_lease_at }),
      tenants: JSON.parse(tenants) as AdminTenant[],
    }));
  }

  async tenants({ limit, cursor }: TenantListQuery): Promise<TenantPage> {
    const after = cursor === null ? '' : (readCursor(NAME_CURSOR, cursor).at ?? '');
    const values = [after, limit + 1, TENANT_WALK, FLEET_WALK];
    const found = await this.db.count<AdminTenant>({ tenant: FLEET, statement: sql.fleet_tenants, values });
    const tenants = found.slice(0, limit);
    const last = tenants.at(-1);
    const hasMore = found.length > limit && last !== undefined;
    return { tenants, nextCursor: hasMore ? cursorAfter(NAME_CURSOR, last.tenant_id) : null };
  }
}

function countsOf(row: OverviewRow): Pick<AdminOverview, 'jobs' | 'dead_letters' | 'workflows'> {
  const totals = JSON.parse(row.totals) as Totals;
  const waiting = (part: number): Count => {
    if (row.waiting <= FLEET_WALK) return { n: part, exact: true };
    const unfinished = totals.created - totals.completed - totals.failed - totals.cancelled - row.running;
    return { n: Math.round((part / row.waiting) * Math.max(unfinished, row.waiting)), exact: false };
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
      pending: waiting(row.pending),
      scheduled: waiting(row.scheduled),
      retrying: waiting(row.retrying),
      running: { n: row.running, exact: row.running <= FLEET_WALK },
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
