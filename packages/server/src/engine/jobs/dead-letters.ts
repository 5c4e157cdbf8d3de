import { forbidden, MillraceError, notFound } from '../../domain/errors.js';
import { bucketOf, idSuffix } from '../../domain/ids.js';
import type { Database } from '../../store/database.js';
import { toDeadLetter, type DeadLetterRow } from '../../store/rows.js';
import { loadStatements } from '../../store/sql.js';
import type { Hub } from '../shared/hub.js';
import type { Counters } from '../shared/counters.js';
import { random32 } from '../shared/random.js';
import { readDeadLetters, readGroups } from './dead-letter-list.js';
import type { DeadLetterRecord } from '../../domain/records.js';
import type { DeadLetterGroupPage, DeadLetterGroupsQuery, DeadLetterListQuery, DeadLettersApi, Page } from '../api.js';

const sql = loadStatements('dead-letters.sql', ['dead_letter', 'replay']);

export class DeadLetters implements DeadLettersApi {
  constructor(
    private readonly db: Database,
    private readonly hub: Hub,
    private readonly counters: Counters,
  ) {}

  async get(tenant: string, id: string): Promise<DeadLetterRecord> {
    const [row] = isInt64(id) ? await this.db.run<DeadLetterRow>(sql.dead_letter, [id]) : [];
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

  async replay(tenant: string, id: string): Promise<string> {
    await this.get(tenant, id);
    const suffix = idSuffix(0, bucketOf(tenant), random32());
    const [created] = await this.db.run<{ id: string; queue: string; task: string; priority: number }>(sql.replay, [
      id,
      suffix,
    ]);
    if (created) {
      this.counters.created({ tenant, queue: created.queue, task: created.task });
      this.hub.announceWork(created.queue, created.priority, null);
      return created.id;
    }
    // Nothing happened: either another caller was first, or the job is gone. "Already replayed" takes precedence.
    if ((await this.get(tenant, id)).replayed_at !== null) {
      throw new MillraceError('already_replayed', 'this dead letter has already been replayed');
    }
    throw notFound('the job of this dead letter');
  }
}

const INT64_MAX = 9_223_372_036_854_775_807n;

const isInt64 = (text: string): boolean => /^\d{1,19}$/.test(text) && BigInt(text) <= INT64_MAX;
