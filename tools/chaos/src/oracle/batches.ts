import type { Database } from '../stage/database.js';

/** The payload of a job in a batch: names the batch and its size. */
export const inBatch = (batch: string, size: number): Readonly<Record<string, unknown>> => ({ batch, size });

/** One message per batch that was stored only in part: whether acknowledged or not, it must be all or nothing. */
export async function halfBatches(database: Database): Promise<readonly string[]> {
  const rows = await database.query<{ batch: string; n: number; size: number }>(`
    SELECT payload ->> 'batch' AS batch, count(*)::int AS n, max((payload ->> 'size')::int) AS size
    FROM millrace.jobs WHERE payload ->> 'batch' IS NOT NULL
    GROUP BY 1 HAVING count(*) <> max((payload ->> 'size')::int)`);
  return rows.map(({ batch, n, size }) => `batch ${batch} has ${n} jobs of ${size}`);
}
