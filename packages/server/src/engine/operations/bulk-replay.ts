import { bucketOf, idSuffix } from '../../domain/ids.js';
import type { KeptCheckpoints } from '../../domain/kept-checkpoints.js';
import type { JsonText } from '../../domain/records.js';
import { int8Array, jsonArray, textArray } from '../../store/arrays.js';
import type { Execute } from '../../store/connection/database.js';
import { loadStatements } from '../../store/sql.js';
import { keepCheckpoints } from '../durable/checkpoints.js';
import { withOrigin } from '../jobs/dead-letters.js';
import type { AfterCommit } from '../outcomes/after-commit.js';
import { random32 } from '../shared/random.js';

/** Replays many dead letters of one tenant in a transaction of the caller, each as a single replay would. */
const sql = loadStatements('operations/batches.sql');

/** What the jobs of a batch may come to, as they are stored: their payloads are copied. */
export const MAX_BYTES = 16 * 1024 * 1024;

interface LetterRow {
  readonly id: string;
  /** Null: it is gone, or another tenant's. */
  readonly job_id: string | null;
  readonly metadata: JsonText | null;
}

interface ReplayedRow {
  readonly id: string;
  readonly letter: string;
  readonly queue: string;
  readonly task: string;
  readonly priority: number;
  readonly waits_for: string | null;
}

export interface Replayed {
  /** How many of the given ones it got to: at least one. */
  readonly looked: number;
  readonly created: number;
}

export async function replayLetters(
  execute: Execute,
  tenant: string,
  operationId: string,
  ids: readonly string[],
  kept: KeptCheckpoints | null,
  afterCommit: AfterCommit,
): Promise<Replayed> {
  const letters = await execute<LetterRow>(
    sql.letters_to_replay({ tenant, ids: int8Array(ids.map(Number)), max_bytes: MAX_BYTES, keeps: kept !== null }),
  );
  const bucket = bucketOf(tenant);
  const created = await execute<ReplayedRow>(
    sql.replay_letters({
      tenant,
      ids: int8Array(letters.map(({ id }) => Number(id))),
      suffixes: textArray(letters.map((_, position) => idSuffix(position, bucket, random32()))),
      metadata: jsonArray(
        letters.map(({ id, job_id: jobId, metadata }) => withOrigin(metadata, jobId ?? '', id, kept)),
      ),
      operation_id: operationId,
    }),
  );
  if (kept) {
    const jobs = new Map(letters.map(({ id, job_id: jobId }) => [id, jobId]));
    const copied = created.map(({ id, letter }) => ({ from: jobs.get(letter)!, to: id }));
    await keepCheckpoints(execute, tenant, copied, kept);
  }
  for (const { queue, task, priority, waits_for: limit } of created)
    afterCommit.enqueued({ tenant, queue, task }, priority, limit);
  return { looked: letters.length, created: created.length };
}
