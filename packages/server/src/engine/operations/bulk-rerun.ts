import { bucketOf, idSuffix } from '../../domain/ids.js';
import { withMembers } from '../../domain/json-members.js';
import type { JsonText } from '../../domain/records.js';
import { jsonArray, textArray, uuidArray } from '../../store/arrays.js';
import type { Execute } from '../../store/connection/database.js';
import { loadStatements } from '../../store/sql.js';
import type { AfterCommit } from '../outcomes/after-commit.js';
import { random32 } from '../shared/random.js';
import { MAX_BYTES, type Replayed } from './bulk-replay.js';

/** Creates many ended jobs of one tenant anew in a transaction of the caller, each as a single rerun would. */
const sql = loadStatements('operations/batches.sql');

interface OriginalRow {
  readonly id: string;
  readonly metadata: JsonText | null;
}

interface CopyRow {
  readonly queue: string;
  readonly task: string;
  readonly priority: number;
  readonly waits_for: string | null;
}

export async function rerunJobs(
  execute: Execute,
  tenant: string,
  operationId: string,
  ids: readonly string[],
  afterCommit: AfterCommit,
): Promise<Replayed> {
  const originals = await execute<OriginalRow>(
    sql.jobs_to_rerun({ tenant, ids: uuidArray(ids), max_bytes: MAX_BYTES }),
  );
  const bucket = bucketOf(tenant);
  const created = await execute<CopyRow>(
    sql.rerun_many({
      tenant,
      ids: uuidArray(originals.map(({ id }) => id)),
      suffixes: textArray(originals.map((_, position) => idSuffix(position, bucket, random32()))),
      metadata: jsonArray(
        originals.map(({ id, metadata }) => withMembers(metadata ?? '{}', [['rerun_of', JSON.stringify(id)]])),
      ),
      operation_id: operationId,
    }),
  );
  for (const { queue, task, priority, waits_for: limit } of created)
    afterCommit.enqueued({ tenant, queue, task }, priority, limit);
  return { looked: originals.length, created: created.length };
}
