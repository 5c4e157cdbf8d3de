import { CRON_FIRINGS_KEPT, DEFAULT_JOB_CONFIG } from '@millrace/contract';
import { NEVER_AGAIN, NOT_A_ZONE } from '@millrace/sdk/rules';
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
import { limitIdsOf } from '../shared/limit-id.js';
import type { Counters } from '../shared/counters.js';
import { DUE_CURSOR, ID_CURSOR, idsOf, NUMBER_CURSOR } from '../shared/cursor.js';
import type { Effect, Idempotency } from '../shared/idempotency.js';
import type { Hub } from '../shared/hub.js';
import { readPage, type Listing } from '../shared/page.js';
import { random32 } from '../shared/random.js';
import type { Tenants } from '../shared/tenants.js';
import type { WorkflowStarter } from '../shared/workflow-starter.js';
import type { WorkflowFirings } from './workflow-firings.js';
import type { CronFiringRecord, CronRecord, CronSpec } from '../../domain/cron-records.js';
import type { Instant } from '../../domain/records.js';
import type { CronListQuery, CronPut, CronsApi, ListQuery, Page, TriggeredCron } from '../api.js';

/**
 * Schedules as their tenants see them. Occurrences are computed here, starting from the database's time; the statement
 * that stores one checks that it is still in the future and, if not, the computation starts over.
 */
const sql = loadStatements('crons/crons.sql');

type CronRowNow = CronRow & { readonly now_ms: number };

export interface CronsDeps {
  readonly db: Database;
  readonly hub: Hub;
  readonly counters: Counters;
  readonly tenants: Tenants;
  readonly keys: Idempotency;
  readonly workflows: WorkflowStarter;
  readonly workflowFirings: WorkflowFirings;
}

export class Crons implements CronsApi {
  constructor(private readonly deps: CronsDeps) {}

  async create(tenant: string, spec: CronSpec): Promise<string> {
    checkTimetable(spec, 'cron_expr');
    const columns = this.#columnsOf(tenant, spec);
    await this.deps.tenants.register(tenant);
    for (;;) {
      const first = nextAfter(spec, await this.#now());
      if (first === null) throw neverFires('cron_expr');
      const [answer] = await this.deps.db.run<{ ahead: boolean; id: string | null }>(
        sql.create_cron({ ...beginning(tenant, first), ...columns }),
      );
      if (answer?.id) return answer.id;
      if (answer?.ahead) throw new MillraceError('conflict', `a schedule named "${spec.name}" already exists`);
    }
  }

  async put(tenant: string, spec: CronSpec): Promise<CronPut> {
    checkTimetable(spec, 'cron_expr');
    const columns = this.#columnsOf(tenant, spec);
    await this.deps.tenants.register(tenant);
    for (;;) {
      const first = nextAfter(spec, await this.#now());
      if (first === null) return { id: await this.#putEnded(tenant, spec), created: false };
      const [put] = await this.deps.db.run<CronPut>(sql.put_cron({ ...beginning(tenant, first), ...columns }));
      if (put) return { id: put.id, created: put.created };
    }
  }

  async #putEnded(tenant: string, spec: CronSpec): Promise<string> {
    const [put] = await this.deps.db.run<{ id: string }>(sql.put_ended_cron(this.#columnsOf(tenant, spec)));
    if (!put) throw neverFires('cron_expr');
    return put.id;
  }

  async get(tenant: string, id: string): Promise<CronRecord> {
    return toCron(await this.#row(tenant, id));
  }

  async list(tenant: string, query: CronListQuery): Promise<Page<CronRecord>> {
    const { createdAfter, createdBefore } = query;
    const filter: CronFilter = { tenant, createdAfter, createdBefore };
    if (query.byNextRun) return readPage(this.deps.db, query, byDue(filter));
    return readPage<CronRow, string, CronRecord>(this.deps.db, query, {
      list: (window) => listCrons(filter, window),
      count: () => countCrons(filter),
      rowsOf: (rows, budget) => cronsOf(tenant, idsOf(rows), budget),
      toItems: (rows) => rows.map(toCron),
      placeOf: ({ id }) => id,
      cursors: ID_CURSOR,
    });
  }

  async remove(tenant: string, id: string): Promise<void> {
    const deleted = isUuid(id) && (await this.deps.db.transaction((execute) => deleteCron(execute, tenant, id)));
    if (!deleted) throw await this.#absent(id);
  }

  async pause(tenant: string, id: string): Promise<void> {
    const [paused] = isUuid(id) ? await this.deps.db.run(sql.pause_cron({ tenant, id, revision: null })) : [];
    if (!paused) throw await this.#absent(id);
  }

  /** A schedule whose last occurrence has passed has nothing to resume and stays as it is. */
  async resume(tenant: string, id: string): Promise<void> {
    for (;;) {
      const row = await this.#row(tenant, id);
      const next = row.enabled ? null : nextAfter(row, row.now_ms);
      if (next === null) return;
      const [resumed] = await this.deps.db.run(sql.resume_cron({ tenant, id, first_ms: next, revision: row.revision }));
      if (resumed) return;
    }
  }

  async trigger(tenant: string, id: string, key: string | null): Promise<TriggeredCron> {
    if (!isUuid(id)) throw notFound('schedule');
    const use = key === null ? null : { tenant, key, kind: `trigger ${id.toLowerCase()}` };
    const effect = async (execute: Execute): Promise<Effect> =>
      (await this.#triggerJob(execute, tenant, id)) ?? this.#triggerWorkflow(use && execute, tenant, id);
    const { ids, replayed } = await this.deps.keys.once(use, effect);
    const [jobId, workflowId] = ids;
    if (workflowId === undefined) return { created: 'job', id: jobId!, replayed };
    return { created: 'workflow', id: workflowId, replayed };
  }

  /** Null: there is no such schedule that enqueues jobs. */
  async #triggerJob(execute: Execute, tenant: string, id: string): Promise<Effect | null> {
    const { counters, hub } = this.deps;
    const suffix = idSuffix(0, bucketOf(tenant), random32());
    const [job] = await execute<TriggeredRow>(sql.trigger_cron({ tenant, id, suffix, slots: CRON_FIRINGS_KEPT }));
    if (!job) return null;
    const committed = (): void => {
      counters.created({ tenant, queue: job.queue, task: job.task });
      hub.announceWork(job.queue, job.priority, null);
      if (job.waits_for !== null) hub.announceLimits({ limits: [job.waits_for], slept: false });
    };
    return { ids: [job.job_id], committed };
  }

  /** `within`: the transaction that holds the key of the request; null: it has none, and gets a transaction here. */
  async #triggerWorkflow(within: Execute | null, tenant: string, id: string): Promise<Effect> {
    const { db, workflowFirings } = this.deps;
    const trigger = (execute: Execute): Promise<Effect | null> => workflowFirings.trigger(execute, tenant, id);
    const started = await (within === null ? db.transaction(trigger) : trigger(within));
    if (!started) throw await this.#absent(id, within ?? db.run);
    return started;
  }

  async firings(tenant: string, id: string, query: ListQuery): Promise<Page<CronFiringRecord>> {
    const { id: cronId } = await this.#row(tenant, id);
    const { createdAfter, createdBefore } = query;
    const filter = { tenant, cronId, createdAfter, createdBefore };
    return readPage<CronFiringRow, number, CronFiringRecord>(this.deps.db, query, {
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

  #columnsOf(tenant: string, spec: CronSpec) {
    const { workflow, queue, jobConfig } = spec;
    return {
      priority: jobConfig?.priority ?? DEFAULT_JOB_CONFIG.priority,
      tenant,
      name: spec.name,
      expr: spec.expr,
      timezone: spec.timezone,
      task: spec.task,
      queue,
      payload: spec.payload,
      config: spec.config,
      job_config: jobConfig && JSON.stringify(jobConfig),
      limits: queue === null ? null : arrayText(limitIdsOf(tenant, queue, jobConfig)),
      skips: spec.overlap === 'skip' ? true : null,
      workflow: workflow && this.deps.workflows.textOf(workflow, 'workflow.'),
    };
  }

  async #now(): Promise<number> {
    const [clock] = await this.deps.db.run<{ now_ms: number }>(sql.cron_clock());
    return clock?.now_ms ?? 0;
  }

  async #row(tenant: string, id: string): Promise<CronRowNow> {
    const [row] = isUuid(id) ? await this.deps.db.run<CronRowNow>(sql.cron_of_tenant({ tenant, id })) : [];
    if (!row) throw await this.#absent(id);
    return row;
  }

  async #absent(id: string, execute: Execute = this.deps.db.run): Promise<MillraceError> {
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
    throw invalidField('timezone', NOT_A_ZONE);
  }
}

const neverFires = (field: string): MillraceError => invalidField(field, NEVER_AGAIN);

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
