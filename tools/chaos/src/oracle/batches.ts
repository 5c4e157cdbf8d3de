import type { Database } from '../stage/database.js';

/** The payload of a job that was created in a batch with others: names the batch, and how many belong to it. */
export const inBatch = (batch: string, of: number): Readonly<Record<string, unknown>> => ({ batch, of });

/** Batches that are there in part, acknowledged or not: all or nothing. */
export async function halfBatches(database: Database): Promise<readonly string[]> {
  const rows = await database.query<{ batch: string; n: number; of: number }>(`
    SELECT payload ->> 'batch' AS batch, count(*)::int AS n, max((payload ->> 'of')::int) AS of
    FROM millrace.jobs WHERE payload ->> 'batch' IS NOT NULL
    GROUP BY 1 HAVING count(*) <> max((payload ->> 'of')::int)`);
  return rows.map(({ batch, n, of }) => `batch ${batch} has ${n} jobs of ${of}`);
}
