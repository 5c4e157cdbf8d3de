import { isLimitedId, isStepId } from '../../domain/ids.js';
import type { JobRecord } from '../../domain/records.js';
import { uuidArray } from '../../store/arrays.js';
import type { Execute } from '../../store/connection/database.js';
import { loadStatements } from '../../store/sql.js';

const sql = loadStatements('durable/children.sql');

type Shown = Pick<JobRecord, 'id' | 'parent_job_id'>;

/** The records, those of children with their parents. Costs nothing where no id is marked. */
export async function withParents<Item extends Shown>(execute: Execute, jobs: readonly Item[]): Promise<Item[]> {
  const marked = jobs.flatMap(({ id }) => (isLimitedId(id) && !isStepId(id) ? [id] : []));
  if (marked.length === 0) return [...jobs];
  const rows = await execute<{ id: string; parent_id: string }>(sql.parents_of({ ids: uuidArray(marked) }));
  const parents = new Map(rows.map(({ id, parent_id: parent }) => [id, parent]));
  return jobs.map((job) => {
    const parent = parents.get(job.id);
    return parent === undefined ? job : { ...job, parent_job_id: parent };
  });
}
