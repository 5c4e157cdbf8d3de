import type { JobStatus } from '@millrace/contract';
import { searchedStatuses } from '../../domain/filters.js';
import { forbidden, notFound, type MillraceError } from '../../domain/errors.js';
import { bucketOfId, isUuid } from '../../domain/ids.js';
import { textArray, uuidArray } from '../../store/arrays.js';
import type { Database, Execute } from '../../store/connection/database.js';
import {
  countJobs,
  isJobSearch,
  jobsOf,
  jobsWithIds,
  listJobs,
  scanJobs,
  type TenantJobFilter,
  type JobView,
} from '../../store/lists/job-lists.js';
import type { Budget } from '../../store/lists/list-statements.js';
import { toJobSummary, type JobRow, type JobSummaryRow } from '../../store/rows.js';
import { loadStatements } from '../../store/sql.js';
import { MAX_QUEUE_LABELS, type Depth } from '../../telemetry/queue-labels.js';
import { ID_CURSOR, idsOf } from '../shared/cursor.js';
import { completeJobs } from '../shared/job-records.js';
import { withParents } from '../durable/parent-ids.js';
import { emptyPage, readPage, type Listing } from '../shared/page.js';
import { searchById } from '../shared/search.js';
import type { JobRecord, JobSummaryRecord } from '../../domain/records.js';
import type { JobListQuery, Page } from '../api.js';

const sql = loadStatements('jobs/reads.sql');

/** Reads that are not for a tenant take turns with those of tenants under this name; no tenant has an empty name. */
const ALL_TENANTS = '';

export interface JobNames {
  readonly task: string;
  readonly queue: string;
}

export interface Owner {
  readonly tenant: string;
  readonly status: JobStatus;
}

export class Reads {
  constructor(private readonly db: Database) {}

  async job(tenant: string, id: string, execute: Execute = this.db.run): Promise<JobRecord> {
    if (!isUuid(id)) throw notFound('job');
    const rows = await execute<JobRow>(sql.job_of_tenant({ tenant, id }));
    const [job] = await completeJobs(execute, rows);
    if (job) return (await withParents(execute, [job.record]))[0]!;
    throw await this.refusal(id, execute);
  }

  /** Why a tenant that has no job of this id gets none: it is another tenant's, or there is none. */
  async refusal(id: string, execute: Execute = this.db.run): Promise<MillraceError> {
    return (await this.owner(id, execute)) ? forbidden('this job belongs to another tenant') : notFound('job');
  }

  /** Whose job it is and its status, by id alone. */
  async owner(id: string, execute: Execute = this.db.run): Promise<Owner | null> {
    const [row] = await execute<Owner>(sql.owner_of_job({ id, bucket: bucketOfId(id) }));
    return row ?? null;
  }

  async jobs(tenant: string, query: JobListQuery): Promise<Page<JobRecord>> {
    return this.#page<JobRow, JobRecord>(tenant, query, 'full', async (rows) => {
      const read: Execute = (statement) => this.db.read({ tenant, statement });
      const jobs = await completeJobs(read, rows);
      return withParents(
        read,
        jobs.map(({ record }) => record),
      );
    });
  }

  async summaries(tenant: string, query: JobListQuery): Promise<Page<JobSummaryRecord>> {
    return this.#page<JobSummaryRow, JobSummaryRecord>(tenant, query, 'summary', (rows) => {
      const read: Execute = (statement) => this.db.read({ tenant, statement });
      return withParents(read, rows.map(toJobSummary));
    });
  }

  /** Those with these ids, in this order, as many as fit into the budget. */
  async summariesOf(tenant: string, ids: readonly string[], budget: Budget): Promise<readonly JobSummaryRecord[]> {
    const read: Execute = (statement) => this.db.read({ tenant, statement });
    const rows = await this.db.read<JobSummaryRow>(jobsOf(tenant, ids, budget, 'summary'));
    return withParents(read, rows.map(toJobSummary));
  }

  async #page<Row extends JobSummaryRow | JobRow, Item>(
    tenant: string,
    query: JobListQuery,
    view: JobView,
    toItems: Listing<Row, string, Item>['toItems'],
  ): Promise<Page<Item>> {
    const { workflowId, parentId = null } = query;
    const statuses = searchedStatuses(query);
    if (statuses === null) return emptyPage(query, ID_CURSOR);
    const filter: TenantJobFilter = { ...query, statuses, tenant };
    if ([workflowId, parentId].some((id) => id !== null && !isUuid(id))) return emptyPage(query, ID_CURSOR);
    return readPage<Row, string, Item>(this.db, query, {
      list: (window) => listJobs(filter, window, view),
      count: () => countJobs(filter),
      rowsOf: (rows, budget) => jobsOf(tenant, idsOf(rows), budget, view),
      toItems,
      placeOf: ({ id }) => id,
      cursors: ID_CURSOR,
      search: isJobSearch(filter)
        ? {
            ...searchById,
            scan: (scan) => scanJobs(filter, scan),
            rowsAt: (ids, ascending) => jobsWithIds(tenant, ids, ascending, view),
            fits: ({ status }) => statuses.length === 0 || statuses.includes(status),
          }
        : null,
    });
  }

  /** Task and queue of each of these jobs, as far as it exists. */
  async namesOf(
    jobs: readonly { readonly tenant: string; readonly id: string }[],
  ): Promise<ReadonlyMap<string, JobNames>> {
    const keys = { tenants: textArray(jobs.map(({ tenant }) => tenant)), ids: uuidArray(jobs.map(({ id }) => id)) };
    const rows = await this.db.run<JobNames & { readonly id: string }>(sql.names_of_jobs(keys));
    return new Map(rows.map(({ id, ...names }) => [id, names]));
  }

  async depthsOfAllTenants(): Promise<readonly Depth[]> {
    return this.db.count<Depth>({ tenant: ALL_TENANTS, statement: sql.depths_of_all({ named: MAX_QUEUE_LABELS }) });
  }

  async deadLetterCount(): Promise<number> {
    const [row] = await this.db.count<{ n: number }>({ tenant: ALL_TENANTS, statement: sql.count_dead_letters() });
    return row?.n ?? 0;
  }
}
