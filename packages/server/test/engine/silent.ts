import { DEFAULT_JOB_CONFIG } from '@millrace/contract';
import { randomBytes } from 'node:crypto';
import { bucketOf, idSuffix } from '../../src/domain/ids.js';

interface Queryable {
  query<R extends object>(text: string, values?: readonly unknown[]): Promise<R[]>;
}

/**
 * A job that no server was notified of, as if the news were late or lost. Its id carries its instant, as all ids do.
 */
export async function createSilently(
  database: Queryable,
  queue: string,
  { dueMinutesAgo = 0, priority = 0 }: { readonly dueMinutesAgo?: number; readonly priority?: number } = {},
): Promise<string> {
  const tenant = 'tenant-a';
  const suffix = idSuffix(0, bucketOf(tenant), randomBytes(4).toString('hex'));
  const [row] = await database.query<{ id: string }>(
    `WITH job AS (
       INSERT INTO millrace.jobs (created_at, run_at, priority, id, tenant, queue, task, payload, config)
       VALUES (now(), now() - $2 * interval '1 minute', $3, (millrace.id_prefix(now()) || $4)::uuid, $5, $1,
               'silent', '{}', $6)
       RETURNING *
     )
     INSERT INTO millrace.ready (scheduled_at, priority, retry_count, delivery_count, id, tenant, queue)
     SELECT run_at, priority, 0, 0, id, tenant, queue FROM job RETURNING id`,
    [queue, dueMinutesAgo, priority, suffix, tenant, JSON.stringify({ ...DEFAULT_JOB_CONFIG, priority })],
  );
  return row!.id;
}
