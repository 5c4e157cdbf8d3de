import { forbidden, MillraceError, notFound } from '../../domain/errors.js';
import { bucketOf, idSuffix } from '../../domain/ids.js';
import { markedAsKept, type KeptCheckpoints } from '../../domain/kept-checkpoints.js';
import { unlessWaiting } from '../../domain/reserved-queue.js';
import { withMembers } from '../../domain/json-members.js';
import { rawFields } from '../../domain/raw-json.js';
import type { Database, Execute } from '../../store/connection/database.js';
import { toDeadLetter, type DeadLetterRow } from '../../store/rows.js';
import { loadStatements } from '../../store/sql.js';
import { keepCheckpoints } from '../durable/checkpoints.js';
import type { Hub } from '../shared/hub.js';
import type { Counters } from '../shared/counters.js';
import type { Effect, Idempotency } from '../shared/idempotency.js';
import { random32 } from '../shared/random.js';
import { readGroups } from './dead-letter-groups.js';
import { readDeadLetters } from './dead-letter-list.js';
import type { DeadLetterRecord, JsonText } from '../../domain/records.js';
import type {
  Created,
  DeadLetterGroupPage,
  DeadLetterGroupsQuery,
  DeadLetterListQuery,
  DeadLettersApi,
  Page,
} from '../api.js';

const sql = loadStatements('jobs/dead-letters.sql');

export class DeadLetters implements DeadLettersApi {
  constructor(
    private readonly db: Database,
    private readonly hub: Hub,
    private readonly counters: Counters,
    private readonly keys: Idempotency,
  ) {}

  async get(tenant: string, id: string, execute: Execute = this.db.run): Promise<DeadLetterRecord> {
    const [row] = isInt64(id) ? await execute<DeadLetterRow>(sql.dead_letter({ id })) : [];
    if (!row) throw notFound('dead letter');
    if (row.tenant !== tenant) throw forbidden('this dead letter belongs to another tenant');
    return toDeadLetter(row);
  }

  async list(tenant: string, query: DeadLetterListQuery): Promise<Page<DeadLetterRecord>> {
    return readDeadLetters(this.db, tenant, query);
  }

  async groups(tenant: string, query: DeadLetterGroupsQuery): Promise<DeadLetterGroupPage> {
    return readGroups(this.db, tenant, query);
  }

  async replay(tenant: string, id: string, key: string | null, kept: KeptCheckpoints | null): Promise<Created> {
    const use = key === null ? null : { tenant, key, kind: `replay ${id}` };
    const effect = (execute: Execute): Promise<Effect> => this.#replay(execute, tenant, id, kept);
    const { ids, replayed } = await this.keys.once(use, effect, { together: kept !== null });
    return { id: ids[0]!, replayed };
  }

  async #replay(execute: Execute, tenant: string, id: string, kept: KeptCheckpoints | null): Promise<Effect> {
    const letter = await this.get(tenant, id, execute);
    unlessWaiting(letter.queue_name);
    const suffix = idSuffix(0, bucketOf(tenant), random32());
    const metadata = await replayMetadata(execute, letter, kept);
    const [created] = await execute<ReplayedRow>(sql.replay({ id, suffix, metadata }));
    if (created) {
      if (kept) await keepCheckpoints(execute, tenant, [{ from: letter.job_id, to: created.id }], kept);
      const committed = (): void => {
        this.counters.created({ tenant, queue: created.queue, task: created.task });
        this.hub.announceWork(created.queue, created.priority, null);
        if (created.waits_for !== null) this.hub.announceLimits({ limits: [created.waits_for], slept: false });
      };
      return { ids: [created.id], committed };
    }
    // Nothing happened: either another caller was first, or the job is gone. "Already replayed" takes precedence.
    if ((await this.get(tenant, id, execute)).replayed_at !== null) {
      throw new MillraceError('already_replayed', 'this dead letter has already been replayed');
    }
    throw notFound('the job of this dead letter');
  }
}

interface ReplayedRow {
  readonly id: string;
  readonly queue: string;
  readonly task: string;
  readonly priority: number;
  /** The limit in whose line it waits, if it has any. */
  readonly waits_for: string | null;
}

/** The metadata of the job that failed, with where the new one comes from. No job's metadata ever changes. */
async function replayMetadata(
  execute: Execute,
  { id, tenant_id, job_id }: DeadLetterRecord,
  kept: KeptCheckpoints | null,
): Promise<JsonText> {
  const [job] = await execute<{ metadata: JsonText | null }>(sql.metadata_of_job({ tenant: tenant_id, id: job_id }));
  return withOrigin(job?.metadata ?? null, job_id, String(id), kept);
}

/**
 * The metadata of a replay: that of the job that failed, and where it comes from. The replay of a replay also names
 * the first job, so that a worker can tell an effect that has happened.
 */
export function withOrigin(
  metadata: JsonText | null,
  jobId: string,
  letterId: string,
  kept: KeptCheckpoints | null,
): JsonText {
  const [first, before] = rawFields(metadata ?? '{}', ['replayed_from_first', 'replayed_from_job']);
  const origin = first ?? before;
  const replay = withMembers(metadata ?? '{}', [
    ['replayed_from_job', JSON.stringify(jobId)],
    ['replayed_from_dead_letter', letterId],
    ...(origin === undefined ? [] : [['replayed_from_first', origin] as const]),
  ]);
  return markedAsKept(replay, kept);
}

const INT64_MAX = 9_223_372_036_854_775_807n;

const isInt64 = (text: string): boolean => /^\d{1,19}$/.test(text) && BigInt(text) <= INT64_MAX;
