import type { JobStatus } from '@millrace/contract';
import { forbidden, notFound } from '../../domain/errors.js';
import { bucketOfId, isUuid } from '../../domain/ids.js';
import type { Database, Execute } from '../../store/database.js';
import {
  countJobs,
  isSearched,
  jobsOf,
  jobsWithIds,
  listJobs,
  lookForJobs,
  type JobFilter,
  type JobView,
} from '../../store/job-lists.js';
import { toJobSummary, type JobRow, type JobSummaryRow } from '../../store/rows.js';
import { loadStatements } from '../../store/sql.js';
import { ID_CURSOR, idsOf } from '../shared/cursor.js';
import { completeJobs } from '../shared/job-records.js';
import { emptyPage, readPage, type Listing } from '../shared/page.js';
import { searchById } from '../shared/search.js';
import type { QueueDepth } from '@millrace/contract';
import type { JobRecord, JobSummaryRecord } from '../../domain/records.js';
import type { JobListQuery, Page } from '../api.js';

const sql = loadStatements('reads.sql', [
  'job_of_tenant',
  'owner_of_job',
  'queue_depths',
  'fleet_depths',
  'count_dead_letters',
]);

/** Reads that are not for a tenant take turns with those of tenants under this name; no tenant has an empty name. */
const FLEET = '';

export interface Owner {
  readonly tenant: string;
  readonly status: JobStatus;
}

export interface FleetDepth {
  readonly queue: string;
  readonly status: string;
  readonly n: number;
  readonly oldest_age: number | null;
}

export class Reads {
  constructor(private readonly db: Database) {}

  async job(tenant: string, id: string): Promise<JobRecord> {
    if (!isUuid(id)) throw notFound('job');
    const rows = await this.db.run<JobRow>(sql.job_of_tenant, [tenant, id]);
    const [job] = await completeJobs(this.db.run, rows);
    if (job) return job.record;
    throw (await this.owner(id)) ? forbidden('this job belongs to another tenant') : notFound('job');
  }

  /** Whose job it is and its status, by id alone. */
  async owner(id: string): Promise<Owner | null> {
    const [row] = await this.db.run<Owner>(sql.owner_of_job, [id, bucketOfId(id)]);
    return row ?? null;
  }

  async jobs(tenant: string, query: JobListQuery): Promise<Page<JobRecord>> {
    return this.#page<JobRow, JobRecord>(tenant, query, 'full', async (rows) => {
      const read: Execute = (statement, values = []) => this.db.read({ tenant, statement, values });
      return (await completeJobs(read, rows)).map(({ record }) => record);
    });
  }

  async summaries(tenant: string, query: JobListQuery): Promise<Page<JobSummaryRecord>> {
    return this.#page<JobSummaryRow, JobSummaryRecord>(tenant, query, 'summary', (rows) => rows.map(toJobSummary));
  }

  async #page<Row extends JobSummaryRow | JobRow, Item>(
    tenant: string,
    query: JobListQuery,
    view: JobView,
    toItems: Listing<Row, string, Item>['toItems'],
  ): Promise<Page<Item>> {
    const filter: JobFilter = { ...query, tenant };
    const { statuses, workflowId } = filter;
    if (workflowId !== null && !isUuid(workflowId)) return emptyPage(query, ID_CURSOR);
    return readPage<Row, string, Item>(this.db, query, {
      list: (window) => listJobs(filter, window, view),
      count: () => countJobs(filter),
      rowsOf: (rows, budget) => jobsOf(tenant, idsOf(rows), budget, view),
      toItems,
      placeOf: ({ id }) => id,
      cursors: ID_CURSOR,
      search: isSearched(filter)
        ? {
            ...searchById,
            look: (look) => lookForJobs(filter, look),
            rowsAt: (ids, ascending) => jobsWithIds(tenant, ids, ascending, view),
            fits: ({ status }) => statuses.length === 0 || statuses.includes(status),
          }
        : null,
    });
  }

  async queues(tenant: string): Promise<readonly QueueDepth[]> {
    return this.db.count<QueueDepth>({ tenant, statement: sql.queue_depths, values: [tenant] });
  }

  async fleetDepths(): Promise<readonly FleetDepth[]> {
    return this.db.count<FleetDepth>({ tenant: FLEET, statement: sql.fleet_depths, values: [] });
  }

  async deadLetterCount(): Promise<number> {
    const [row] = await this.db.count<{ n: number }>({ tenant: FLEET, statement: sql.count_dead_letters, values: [] });
    return row?.n ?? 0;
  }
}
