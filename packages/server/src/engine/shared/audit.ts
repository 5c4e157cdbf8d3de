import { AUDIT_KEPT, type AuditAction, type AuditEntry } from '@millrace/contract';
import type { JsonText } from '../../domain/records.js';
import type { Database, Execute } from '../../store/connection/database.js';
import { toInstant } from '../../store/rows.js';
import { loadStatements } from '../../store/sql.js';
import type { AuditRead, CursorQuery, AuditStamp } from '../api.js';
import { AUDIT_CURSOR, cursorAfter, readCursor } from './cursor.js';

/**
 * What operators did. A change is recorded in the transaction that makes it, with how things were before and after it;
 * one that changed nothing is not recorded.
 */
const sql = loadStatements('shared/audit.sql');

/** Reads that are not for a tenant take turns with those of tenants under this name; no tenant has an empty name. */
const ALL_TENANTS = '';

interface AuditRow extends Omit<AuditEntry, 'by' | 'before' | 'after'> {
  readonly id: string;
  readonly operator: string;
  /** In JSON. */
  readonly before: string | null;
  readonly after: string | null;
}

export class Audit {
  constructor(private readonly db: Database) {}

  /**
   * Makes a change, alone among those of operators. `read` tells how things are, before and after. Answers with the
   * latter.
   */
  change<State extends object | null>(
    { id, at, operator, requestId }: AuditStamp,
    action: AuditAction,
    target: string,
    read: (execute: Execute) => Promise<State>,
    make: (execute: Execute) => Promise<void>,
  ): Promise<State> {
    return this.db.transaction(async (execute) => {
      await execute(sql.lock_audit());
      const before = await read(execute);
      await make(execute);
      const after = await read(execute);
      const [old, now] = [jsonOf(before), jsonOf(after)];
      if (old !== now) {
        const entry = { id, at, action, target, operator, request_id: requestId, before: old, after: now };
        await execute(sql.add_audit(entry));
        await execute(sql.trim_audit({ max_entries: AUDIT_KEPT }));
      }
      return after;
    });
  }

  /** Before an operator reads as a tenant. What is recorded already is found through an index, and nothing written. */
  async noteRead(tenant: string, { id, operator, requestId }: AuditStamp): Promise<void> {
    const [added] = await this.db.run(sql.add_read({ id, tenant, operator, request_id: requestId }));
    if (added) await this.db.run(sql.trim_audit({ max_entries: AUDIT_KEPT }));
  }

  async page({ limit, cursor }: CursorQuery): Promise<AuditRead> {
    const last = cursor === null ? null : readCursor(AUDIT_CURSOR, cursor).at;
    const statement = sql.audit_page({
      before_at: last?.at ?? null,
      before_id: last?.id ?? null,
      max_entries: limit + 1,
    });
    const rows = await this.db.read<AuditRow>({ tenant: ALL_TENANTS, statement });
    const entries = rows.slice(0, limit).map(entryOf);
    const end = entries.at(-1);
    const hasMore = rows.length > limit && end !== undefined;
    return { entries, nextCursor: hasMore ? cursorAfter(AUDIT_CURSOR, end) : null };
  }
}

const jsonOf = (state: object | null): JsonText | null => (state === null ? null : JSON.stringify(state));

const entryOf = ({ id, at, action, target, operator, request_id, before, after }: AuditRow) => ({
  ...{ id, at: toInstant(at), action, target, by: operator, request_id },
  before: stateOf(before),
  after: stateOf(after),
});

const stateOf = (text: string | null): AuditEntry['before'] =>
  text === null ? null : (JSON.parse(text) as AuditEntry['before']);
