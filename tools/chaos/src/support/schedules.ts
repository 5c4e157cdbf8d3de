import type { ChaosClient } from '../history/client.js';
import { QUICK } from '../stage/actors.js';
import type { Database } from '../stage/database.js';

export async function createEverySecond(client: ChaosClient): Promise<string> {
  const body = { name: 'every-second', cron_expr: '* * * * * *', task_name: 'echo', config: QUICK };
  const reply = await client.send('other', 'POST', '/api/v1/cron', { body });
  if (reply.status !== 201) throw new Error(`the schedule was not created: ${reply.status ?? 'no answer'}`);
  return String(reply.body.cron_id);
}

export interface Firing {
  /** When it was due, in seconds since 1970. */
  readonly occurrence: number;
  /** When its job was created. */
  readonly firedAt: number;
}

/** What the schedules fired, read from the idempotency keys of the jobs, which name the occurrence. */
export async function firings(database: Database): Promise<readonly Firing[]> {
  return database.query<Firing>(`
    SELECT extract(epoch FROM right(idempotency_key, 20)::timestamptz)::float8 AS occurrence,
           extract(epoch FROM created_at)::float8 AS "firedAt"
    FROM millrace.jobs WHERE idempotency_key LIKE 'millrace:cron:%' ORDER BY 1, 2`);
}

/** One message per occurrence that has more than one job. */
export async function doubleFirings(database: Database): Promise<readonly string[]> {
  const rows = await database.query<{ key: string; n: number }>(`
    SELECT metadata ->> 'cron_id' || ' at ' || right(idempotency_key, 20) AS key, count(*)::int AS n
    FROM millrace.jobs WHERE metadata ->> 'cron_id' IS NOT NULL GROUP BY 1 HAVING count(*) > 1`);
  return rows.map(({ key, n }) => `schedule ${key} has ${n} jobs`);
}
