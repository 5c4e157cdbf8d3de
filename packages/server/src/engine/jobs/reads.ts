import type { JobStatus } from '@millrace/contract';
import { forbidden, notFound } from '../../domain/errors.js';
import { bucketOfId, isUuid } from '../../domain/ids.js';
import type { Database, Execute } from '../../store/database.js';
import { countJobs, jobsOf, listJobs } from '../../store/list-statements.js';
import type { JobRow } from '../../store/rows.js';
import { loadStatements } from '../../store/sql.js';
import { ID_CURSOR, idsOf } from '../shared/cursor.js';
import { completeJobs } from '../shared/job-records.js';
import { readPage } from '../shared/page.js';
import type { QueueDepth } from '@millrace/contract';
import type { JobRecord } from '../../domain/records.js';
import type { JobListQuery, Page } from '../api.js';

const sql = loadStatements('reads.sql', [
  'job_of_tenant',
  'owner_of_job',
  'queue_depths',
  'fleet_depths',
  'count_dead_letters',
]);

/** What is read for nobody in particular takes its turn like a tenant's; no tenant has an empty name. */
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

  async job(tenant: string, id: string, execute: Execute = this.db.run): Promise<JobRecord> {
    if (!isUuid(id)) throw notFound('job');
    const rows = await execute<JobRow>(sql.job_of_tenant, [tenant, id]);
    const [job] = await completeJobs(execute, rows);
    if (job) return job.record;
    throw (await this.owner(id, execute)) ? forbidden('this job belongs to another tenant') : notFound('job');
  }

  /** Whose job it is and how it stands, by the id alone. */
  async owner(id: string, execute: Execute = this.db.run): Promise<Owner | null> {
    const [row] = await execute<Owner>(sql.owner_of_job, [id, bucketOfId(id)]);
    return row ?? null;
  }

  async jobs(tenant: string, query: JobListQuery): Promise<Page<JobRecord>> {
    const { status, queue, createdAfter, createdBefore } = query;
    const filter = { tenant, status, queue, createdAfter, createdBefore };
    return readPage<JobRow, string, JobRecord>(this.db, query, {
      list: (window) => listJobs(filter, window),
      count: () => countJobs(filter),
      rowsOf: (rows, budget) => jobsOf(tenant, idsOf(rows), budget),
      toItems: async (rows) => {
        const read: Execute = (statement, values = []) => this.db.read({ tenant, statement, values });
        return (await completeJobs(read, rows)).map(({ record }) => record);
      },
      ...ID_CURSOR,
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
