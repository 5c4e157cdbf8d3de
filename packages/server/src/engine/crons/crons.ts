import { nextAfter, nextN, parseCron } from '../../domain/cron-expression.js';
import { forbidden, invalidField, MillraceError, notFound } from '../../domain/errors.js';
import { bucketOf, bucketOfId, idSuffix, isUuid } from '../../domain/ids.js';
import { toCron, toCronFiring, type CronFiringRow, type CronRow } from '../../store/cron-rows.js';
import type { Database, Execute } from '../../store/database.js';
import {
  countCrons,
  countFirings,
  cronsOf,
  listCrons,
  listFirings,
  type CronFilter,
} from '../../store/list-statements.js';
import { loadStatements } from '../../store/sql.js';
import { decodeNumberCursor, encodeNumberCursor, ID_CURSOR, idsOf } from '../shared/cursor.js';
import { readPage } from '../shared/page.js';
import { random32 } from '../shared/random.js';
import type { Tenants } from '../shared/tenants.js';
import type { CronFiringRecord, CronRecord, CronSpec, Instant } from '../../domain/records.js';
import type { CronsApi, ListQuery, Page } from '../api.js';

/**
 * Schedules as their tenants see them. Occurrences are computed here, from an instant that the database gave; the statement that stores one
 * checks that it still lies ahead, and if not, this starts over from a new instant.
 */
const sql = loadStatements('cron.sql', [
  'cron_clock',
  'create_cron',
  'cron_of_tenant',
  'owner_of_cron',
  'pause_cron',
  'resume_cron',
  'delete_cron',
  'delete_firings',
]);

type CronRowNow = CronRow & { readonly now_ms: number };

export class Crons implements CronsApi {
  constructor(
    private readonly db: Database,
    private readonly tenants: Tenants,
  ) {}

  async create(tenant: string, spec: CronSpec): Promise<string> {
    const parsed = parseCron(spec.expr);
    if (!parsed.ok) throw invalidField('cron_expr', parsed.error);
    await this.tenants.register(tenant);
    for (;;) {
      const [clock] = await this.db.run<{ now_ms: number }>(sql.cron_clock);
      const first = nextAfter(spec.expr, clock?.now_ms ?? 0);
      if (first === null) throw invalidField('cron_expr', 'never fires: its last occurrence has passed');
      const [answer] = await this.db.run<{ ahead: boolean; id: string | null }>(
        sql.create_cron,
        insertValues(tenant, spec, first),
      );
      if (answer?.id) return answer.id;
      if (answer?.ahead) throw new MillraceError('conflict', `a schedule named "${spec.name}" exists already`);
    }
  }

  async get(tenant: string, id: string): Promise<CronRecord> {
    return toCron(await this.#row(tenant, id));
  }

  async list(tenant: string, query: ListQuery): Promise<Page<CronRecord>> {
    const { createdAfter, createdBefore } = query;
    const filter: CronFilter = { tenant, createdAfter, createdBefore };
    return readPage<CronRow, string, CronRecord>(this.db, query, {
      list: (window) => listCrons(filter, window),
      count: () => countCrons(filter),
      rowsOf: (rows, budget) => cronsOf(tenant, idsOf(rows), budget),
      toItems: (rows) => rows.map(toCron),
      ...ID_CURSOR,
    });
  }

  async remove(tenant: string, id: string): Promise<void> {
    const gone = isUuid(id) && (await this.db.transaction((execute) => deleteCron(execute, tenant, id)));
    if (!gone) throw await this.#absent(id);
  }

  async pause(tenant: string, id: string): Promise<void> {
    const [paused] = isUuid(id) ? await this.db.run(sql.pause_cron, [tenant, id]) : [];
    if (!paused) throw await this.#absent(id);
  }

  /** A schedule whose last occurrence has passed has nothing to resume, and stays as it is. */
  async resume(tenant: string, id: string): Promise<void> {
    for (;;) {
      const row = await this.#row(tenant, id);
      const next = row.enabled ? null : nextAfter(row.expr, row.now_ms);
      if (next === null) return;
      const [resumed] = await this.db.run(sql.resume_cron, [tenant, id, next]);
      if (resumed) return;
    }
  }

  async firings(tenant: string, id: string, query: ListQuery): Promise<Page<CronFiringRecord>> {
    const { id: cronId } = await this.#row(tenant, id);
    const { createdAfter, createdBefore } = query;
    const filter = { tenant, cronId, createdAfter, createdBefore };
    return readPage<CronFiringRow, number, CronFiringRecord>(this.db, query, {
      list: (window) => listFirings(filter, window),
      count: () => countFirings(filter),
      toItems: (rows) => rows.map(toCronFiring),
      decodeCursor: decodeNumberCursor,
      encodeCursor: (last) => encodeNumberCursor(Number(last.number)),
    });
  }

  async nextRuns(tenant: string, id: string, count: number): Promise<readonly Instant[]> {
    const row = await this.#row(tenant, id);
    return nextN(row.expr, row.now_ms, count).map((ms) => new Date(ms).toISOString().replace('.000Z', 'Z'));
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

async function deleteCron(execute: Execute, tenant: string, id: string): Promise<boolean> {
  const [gone] = await execute(sql.delete_cron, [tenant, id]);
  if (gone) await execute(sql.delete_firings, [tenant, id]);
  return gone !== undefined;
}

function insertValues(tenant: string, spec: CronSpec, firstMs: number): unknown[] {
  return [
    idSuffix(0, bucketOf(tenant), random32()),
    firstMs,
    spec.jobConfig?.priority ?? 0,
    tenant,
    spec.name,
    spec.expr,
    spec.task,
    spec.queue,
    spec.payload,
    spec.config,
    spec.jobConfig && JSON.stringify(spec.jobConfig),
  ];
}
