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
import type { Database, Execute } from '../../store/database.js';
import {
  countCrons,
  countFirings,
  listCrons,
  listCronsByDue,
  listFirings,
  type CronFilter,
} from '../../store/list-statements.js';
import { loadStatements } from '../../store/sql.js';
import type { Counters } from '../shared/counters.js';
import {
  decodeDueCursor,
  decodeNumberCursor,
  encodeDueCursor,
  encodeNumberCursor,
  ID_CURSOR,
} from '../shared/cursor.js';
import type { Hub } from '../shared/hub.js';
import { readPage } from '../shared/page.js';
import { random32 } from '../shared/random.js';
import type { Tenants } from '../shared/tenants.js';
import type { CronFiringRecord, CronRecord, CronSpec, Instant } from '../../domain/records.js';
import type { CronListQuery, CronPut, CronsApi, ListQuery, Page } from '../api.js';
import { REMEMBERED_FIRINGS } from './cron-firer.js';

/**
 * Schedules as their tenants see them. Occurrences are computed here, from an instant that the database gave; the statement that stores one
 * checks that it still lies ahead, and if not, this starts over from a new instant.
 */
const sql = loadStatements('cron.sql', [
  'cron_clock',
  'create_cron',
  'put_cron',
  'put_ended_cron',
  'cron_of_tenant',
  'owner_of_cron',
  'pause_cron',
  'resume_cron',
  'trigger_cron',
  'delete_cron',
  'delete_firings',
]);

type CronRowNow = CronRow & { readonly now_ms: number };

export class Crons implements CronsApi {
  constructor(
    private readonly db: Database,
    private readonly hub: Hub,
    private readonly counters: Counters,
    private readonly tenants: Tenants,
  ) {}

  async create(tenant: string, spec: CronSpec): Promise<string> {
    checkTimetable(spec, 'cron_expr');
    await this.tenants.register(tenant);
    for (;;) {
      const first = nextAfter(spec, await this.#now());
      if (first === null) throw neverFires('cron_expr');
      const [answer] = await this.db.run<{ ahead: boolean; id: string | null }>(
        sql.create_cron,
        insertValues(tenant, spec, first),
      );
      if (answer?.id) return answer.id;
      if (answer?.ahead) throw new MillraceError('conflict', `a schedule named "${spec.name}" exists already`);
    }
  }

  async put(tenant: string, spec: CronSpec): Promise<CronPut> {
    checkTimetable(spec, 'cron_expr');
    await this.tenants.register(tenant);
    for (;;) {
      const first = nextAfter(spec, await this.#now());
      if (first === null) return { id: await this.#putEnded(tenant, spec), created: false };
      const [put] = await this.db.run<CronPut>(sql.put_cron, insertValues(tenant, spec, first));
      if (put) return { id: put.id, created: put.created };
    }
  }

  async #putEnded(tenant: string, spec: CronSpec): Promise<string> {
    const [, , priority, ...fields] = insertValues(tenant, spec, 0);
    const [put] = await this.db.run<{ id: string }>(sql.put_ended_cron, [priority, ...fields]);
    if (!put) throw neverFires('cron_expr');
    return put.id;
  }

  async get(tenant: string, id: string): Promise<CronRecord> {
    return toCron(await this.#row(tenant, id));
  }

  async list(tenant: string, query: CronListQuery): Promise<Page<CronRecord>> {
    const { createdAfter, createdBefore } = query;
    const filter: CronFilter = { tenant, createdAfter, createdBefore };
    const count = () => countCrons(filter);
    const page = query.byNextRun
      ? await readPage<CronRow, CronDue>(this.db, query, {
          list: (window) => listCronsByDue(filter, window),
          count,
          decodeCursor: decodeDueCursor,
          encodeCursor: (last) => encodeDueCursor(cronDue(last)),
        })
      : await readPage<CronRow, string>(this.db, query, {
          list: (window) => listCrons(filter, window),
          count,
          ...ID_CURSOR,
        });
    return { ...page, items: page.items.map(toCron) };
  }

  async remove(tenant: string, id: string): Promise<void> {
    const gone = isUuid(id) && (await this.db.transaction((execute) => deleteCron(execute, tenant, id)));
    if (!gone) throw await this.#absent(id);
  }

  async pause(tenant: string, id: string): Promise<void> {
    const [paused] = isUuid(id) ? await this.db.run(sql.pause_cron, [tenant, id, null]) : [];
    if (!paused) throw await this.#absent(id);
  }

  /** A schedule whose last occurrence has passed has nothing to resume, and stays as it is. */
  async resume(tenant: string, id: string): Promise<void> {
    for (;;) {
      const row = await this.#row(tenant, id);
      const next = row.enabled ? null : nextAfter(row, row.now_ms);
      if (next === null) return;
      const [resumed] = await this.db.run(sql.resume_cron, [tenant, id, next, row.revision]);
      if (resumed) return;
    }
  }

  async trigger(tenant: string, id: string): Promise<string> {
    const values = [tenant, id, idSuffix(0, bucketOf(tenant), random32()), REMEMBERED_FIRINGS];
    const [job] = isUuid(id)
      ? await this.db.run<{ job_id: string; queue: string; priority: number }>(sql.trigger_cron, values)
      : [];
    if (!job) throw await this.#absent(id);
    this.counters.created(tenant, 1);
    this.hub.announceWork(job.queue, job.priority, null);
    return job.job_id;
  }

  async firings(tenant: string, id: string, query: ListQuery): Promise<Page<CronFiringRecord>> {
    const { id: cronId } = await this.#row(tenant, id);
    const { createdAfter, createdBefore } = query;
    const filter = { tenant, cronId, createdAfter, createdBefore };
    const page = await readPage<CronFiringRow, number>(this.db, query, {
      list: (window) => listFirings(filter, window),
      count: () => countFirings(filter),
      decodeCursor: decodeNumberCursor,
      encodeCursor: (last) => encodeNumberCursor(Number(last.number)),
    });
    return { ...page, items: page.items.map(toCronFiring) };
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
    const [clock] = await this.db.run<{ now_ms: number }>(sql.cron_clock);
    return clock?.now_ms ?? 0;
  }

  async #row(tenant: string, id: string): Promise<CronRowNow> {
    const [row] = isUuid(id) ? await this.db.run<CronRowNow>(sql.cron_of_tenant, [tenant, id]) : [];
    if (!row) throw await this.#absent(id);
    return row;
  }

  async #absent(id: string): Promise<MillraceError> {
    const [owner] = isUuid(id) ? await this.db.run(sql.owner_of_cron, [id, bucketOfId(id)]) : [];
    return owner ? forbidden('this schedule belongs to another tenant') : notFound('schedule');
  }
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
  const [gone] = await execute(sql.delete_cron, [tenant, id]);
  if (gone) await execute(sql.delete_firings, [tenant, id]);
  return gone !== undefined;
}

/** In the order of create_cron and put_cron. */
function insertValues(tenant: string, spec: CronSpec, firstMs: number): unknown[] {
  return [
    idSuffix(0, bucketOf(tenant), random32()),
    firstMs,
    spec.jobConfig?.priority ?? 0,
    tenant,
    spec.name,
    spec.expr,
    spec.timezone,
    spec.task,
    spec.queue,
    spec.payload,
    spec.config,
    spec.jobConfig && JSON.stringify(spec.jobConfig),
  ];
}
