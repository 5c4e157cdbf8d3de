import { CRON_FIRINGS_KEPT, DEFAULT_JOB_CONFIG } from '@millrace/contract';
import { isTimeZone, nextAfter, nextN, parseCron, type Timetable } from '../../domain/cron-expression.js';
import { forbidden, invalidField, MillraceError, notFound } from '../../domain/errors.js';
import { bucketOf, bucketOfId, idSuffix, isUuid } from '../../domain/ids.js';
import {
  cronDue,
  toCron,
  toCronFiring,
  type CronDue,
  type CronFiringRow,
  type CronRow,
} from '../../store/cron-rows.js';
import type { Database, Execute } from '../../store/connection/database.js';
import {
  countCrons,
  countFirings,
  cronsOf,
  listCrons,
  listCronsByDue,
  listFirings,
  type CronFilter,
} from '../../store/lists/list-statements.js';
import { loadStatements } from '../../store/sql.js';
import { arrayText } from '../limits/create-limited.js';
import { limitIdsOf } from '../limits/limit-id.js';
import type { Counters } from '../shared/counters.js';
import { DUE_CURSOR, ID_CURSOR, idsOf, NUMBER_CURSOR } from '../shared/cursor.js';
import type { Effect, Idempotency } from '../shared/idempotency.js';
import type { Hub } from '../shared/hub.js';
import { readPage, type Listing } from '../shared/page.js';
import { random32 } from '../shared/random.js';
import type { Tenants } from '../shared/tenants.js';
import type { CronFiringRecord, CronRecord, CronSpec, Instant } from '../../domain/records.js';
import type { Created, CronListQuery, CronPut, CronsApi, ListQuery, Page } from '../api.js';

/**
 * Schedules as their tenants see them. Occurrences are computed here, starting from the database's time; the statement
 * that stores one checks that it is still in the future and, if not, the computation starts over.
 */
const sql = loadStatements('crons/crons.sql');

type CronRowNow = CronRow & { readonly now_ms: number };

export class Crons implements CronsApi {
  constructor(
    private readonly db: Database,
    private readonly hub: Hub,
    private readonly counters: Counters,
    private readonly tenants: Tenants,
    private readonly keys: Idempotency,
  ) {}

  async create(tenant: string, spec: CronSpec): Promise<string> {
    checkTimetable(spec, 'cron_expr');
    await this.tenants.register(tenant);
    for (;;) {
      const first = nextAfter(spec, await this.#now());
      if (first === null) throw neverFires('cron_expr');
      const [answer] = await this.db.run<{ ahead: boolean; id: string | null }>(
        sql.create_cron({ ...beginning(tenant, first), ...columnsOf(tenant, spec) }),
      );
      if (answer?.id) return answer.id;
      if (answer?.ahead) throw new MillraceError('conflict', `a schedule named "${spec.name}" already exists`);
    }
  }

  async put(tenant: string, spec: CronSpec): Promise<CronPut> {
    checkTimetable(spec, 'cron_expr');
    await this.tenants.register(tenant);
    for (;;) {
      const first = nextAfter(spec, await this.#now());
      if (first === null) return { id: await this.#putEnded(tenant, spec), created: false };
      const [put] = await this.db.run<CronPut>(
        sql.put_cron({ ...beginning(tenant, first), ...columnsOf(tenant, spec) }),
      );
      if (put) return { id: put.id, created: put.created };
    }
  }

  async #putEnded(tenant: string, spec: CronSpec): Promise<string> {
    const [put] = await this.db.run<{ id: string }>(sql.put_ended_cron(columnsOf(tenant, spec)));
    if (!put) throw neverFires('cron_expr');
    return put.id;
  }

  async get(tenant: string, id: string): Promise<CronRecord> {
    return toCron(await this.#row(tenant, id));
  }

  async list(tenant: string, query: CronListQuery): Promise<Page<CronRecord>> {
    const { createdAfter, createdBefore } = query;
    const filter: CronFilter = { tenant, createdAfter, createdBefore };
    if (query.byNextRun) return readPage(this.db, query, byDue(filter));
    return readPage<CronRow, string, CronRecord>(this.db, query, {
      list: (window) => listCrons(filter, window),
      count: () => countCrons(filter),
      rowsOf: (rows, budget) => cronsOf(tenant, idsOf(rows), budget),
      toItems: (rows) => rows.map(toCron),
      placeOf: ({ id }) => id,
      cursors: ID_CURSOR,
    });
  }

  async remove(tenant: string, id: string): Promise<void> {
    const deleted = isUuid(id) && (await this.db.transaction((execute) => deleteCron(execute, tenant, id)));
    if (!deleted) throw await this.#absent(id);
  }

  async pause(tenant: string, id: string): Promise<void> {
    const [paused] = isUuid(id) ? await this.db.run(sql.pause_cron({ tenant, id, revision: null })) : [];
    if (!paused) throw await this.#absent(id);
  }

  /** A schedule whose last occurrence has passed has nothing to resume and stays as it is. */
  async resume(tenant: string, id: string): Promise<void> {
    for (;;) {
      const row = await this.#row(tenant, id);
      const next = row.enabled ? null : nextAfter(row, row.now_ms);
      if (next === null) return;
      const [resumed] = await this.db.run(sql.resume_cron({ tenant, id, first_ms: next, revision: row.revision }));
      if (resumed) return;
    }
  }

  async trigger(tenant: string, id: string, key: string | null): Promise<Created> {
    if (!isUuid(id)) throw notFound('schedule');
    const use = key === null ? null : { tenant, key, kind: `trigger ${id.toLowerCase()}` };
    const { ids, replayed } = await this.keys.once(use, (execute) => this.#trigger(execute, tenant, id));
    return { id: ids[0]!, replayed };
  }

  async #trigger(execute: Execute, tenant: string, id: string): Promise<Effect> {
    const suffix = idSuffix(0, bucketOf(tenant), random32());
    const [job] = await execute<TriggeredRow>(sql.trigger_cron({ tenant, id, suffix, slots: CRON_FIRINGS_KEPT }));
    if (!job) throw await this.#absent(id, execute);
    const committed = (): void => {
      this.counters.created({ tenant, queue: job.queue, task: job.task });
      this.hub.announceWork(job.queue, job.priority, null);
      if (job.waits_for !== null) this.hub.announceLimits({ limits: [job.waits_for], slept: false });
    };
    return { ids: [job.job_id], committed };
  }

  async firings(tenant: string, id: string, query: ListQuery): Promise<Page<CronFiringRecord>> {
    const { id: cronId } = await this.#row(tenant, id);
    const { createdAfter, createdBefore } = query;
    const filter = { tenant, cronId, createdAfter, createdBefore };
    return readPage<CronFiringRow, number, CronFiringRecord>(this.db, query, {
      list: (window) => listFirings(filter, window),
      count: () => countFirings(filter),
      toItems: (rows) => rows.map(toCronFiring),
      placeOf: ({ number }) => Number(number),
      cursors: NUMBER_CURSOR,
    });
  }

  async nextRuns(tenant: string, id: string, count: number): Promise<readonly Instant[]> {
    const row = await this.#row(tenant, id);
    return nextN(row, row.now_ms, count).map(instantText);
  }

  async preview(timetable: Timetable, count: number): Promise<readonly Instant[]> {
    checkTimetable(timetable, 'expr');
    const next = nextN(timetable, await this.#now(), count);
    if (next.length === 0) throw neverFires('expr');
    return next.map(instantText);
  }

  async #now(): Promise<number> {
    const [clock] = await this.db.run<{ now_ms: number }>(sql.cron_clock());
    return clock?.now_ms ?? 0;
  }

  async #row(tenant: string, id: string): Promise<CronRowNow> {
    const [row] = isUuid(id) ? await this.db.run<CronRowNow>(sql.cron_of_tenant({ tenant, id })) : [];
    if (!row) throw await this.#absent(id);
    return row;
  }

  async #absent(id: string, execute: Execute = this.db.run): Promise<MillraceError> {
    const [owner] = isUuid(id) ? await execute(sql.owner_of_cron({ id, bucket: bucketOfId(id) })) : [];
    return owner ? forbidden('this schedule belongs to another tenant') : notFound('schedule');
  }
}

interface TriggeredRow {
  readonly job_id: string;
  readonly queue: string;
  readonly task: string;
  readonly priority: number;
  /** The limit in whose line it waits, if it has any. */
  readonly waits_for: string | null;
}

/**
 * Large schedules are read again when their turn comes, and may have fired in between: their place on the page is the
 * one they were first listed at.
 */
function byDue(filter: CronFilter): Listing<CronRow, CronDue, CronRecord> {
  const listed = new Map<string, CronDue>();
  return {
    list: (window) => listCronsByDue(filter, window),
    count: () => countCrons(filter),
    toItems: (rows) => rows.map(toCron),
    rowsOf: (rows, budget) => {
      for (const row of rows) if (!listed.has(row.id)) listed.set(row.id, cronDue(row));
      return cronsOf(filter.tenant, idsOf(rows), budget);
    },
    placeOf: (row) => listed.get(row.id) ?? cronDue(row),
    cursors: DUE_CURSOR,
  };
}

/** `field`: what the request calls the expression. */
function checkTimetable({ expr, timezone }: Timetable, field: string): void {
  const parsed = parseCron(expr);
  if (!parsed.ok) throw invalidField(field, parsed.error);
  if (!isTimeZone(timezone)) {
    throw invalidField('timezone', 'must be a name of the IANA time zone database, such as Europe/Berlin');
  }
}

const neverFires = (field: string): MillraceError => invalidField(field, 'never fires: its last occurrence has passed');

const instantText = (ms: number): Instant => new Date(ms).toISOString().replace('.000Z', 'Z');

async function deleteCron(execute: Execute, tenant: string, id: string): Promise<boolean> {
  const [deleted] = await execute(sql.delete_cron({ tenant, id }));
  if (deleted) await execute(sql.delete_firings({ tenant, id }));
  return deleted !== undefined;
}

/** What a new schedule has besides its columns. */
const beginning = (tenant: string, firstMs: number) => ({
  suffix: idSuffix(0, bucketOf(tenant), random32()),
  first_ms: firstMs,
});

const columnsOf = (tenant: string, spec: CronSpec) => ({
  priority: spec.jobConfig?.priority ?? DEFAULT_JOB_CONFIG.priority,
  tenant,
  name: spec.name,
  expr: spec.expr,
  timezone: spec.timezone,
  task: spec.task,
  queue: spec.queue,
  payload: spec.payload,
  config: spec.config,
  job_config: spec.jobConfig && JSON.stringify(spec.jobConfig),
  limits: arrayText(limitIdsOf(tenant, spec.queue, spec.jobConfig)),
});
