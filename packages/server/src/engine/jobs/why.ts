import { WALK_LIMIT, type JobStatus, type Why } from '@millrace/contract';
import { why as words, type Standing } from '@millrace/sdk/rules';
import { notFound } from '../../domain/errors.js';
import { isUuid } from '../../domain/ids.js';
import type { Instant, WaitingForRecord } from '../../domain/records.js';
import type { Database } from '../../store/connection/database.js';
import { toInstant, toInstantOrNull } from '../../store/rows.js';
import { loadStatements } from '../../store/sql.js';
import type { QueueGates } from '../leases/queue-gates.js';
import type { LimitReads } from '../limits/limit-reads.js';
import type { Offers } from '../shared/offers.js';
import type { QueuePresence } from '../shared/queue-presence.js';
import type { Waits } from '../durable/waits.js';
import type { Reads } from './reads.js';

const sql = loadStatements('jobs/why.sql');

interface StandingRow {
  readonly now: string;
  readonly id: string;
  readonly queue: string;
  readonly task: string;
  readonly priority: number;
  readonly status: JobStatus;
  readonly scheduled_at: string;
  readonly started_at: string | null;
  readonly completed_at: string | null;
  readonly delivery_count: number;
  readonly worker: string | null;
  readonly lease_expires_at: string | null;
  readonly error: string | null;
  readonly paused_at: string | null;
  readonly last_lease_at: string | null;
  readonly gated: boolean;
}

/** What a job waits for. Only a job that is due on a queue that is worked on costs a second statement. */
export class Explainer {
  constructor(
    private readonly db: Database,
    private readonly reads: Reads,
    private readonly presence: QueuePresence,
    private readonly offers: Offers,
    private readonly limits: LimitReads,
    private readonly waits: Waits,
    private readonly gates: Pick<QueueGates, 'standing' | 'lines'>,
  ) {}

  async why(tenant: string, id: string): Promise<Why> {
    if (!isUuid(id)) throw notFound('job');
    const [row] = await this.db.run<StandingRow>(sql.circumstances_of_job({ tenant, id }));
    if (!row) throw await this.reads.refusal(id);
    const lastLeaseAt = this.presence.lastLease(row.queue, row);
    const waiting = await this.waits.ofState(row);
    const standing = toStanding(row, lastLeaseAt, waiting);
    const place = words.isDue(standing) ? await this.limits.placeOf(tenant, id) : null;
    if (place !== null) return words.limited(place);
    const why = words.whyNot(standing);
    if (why === null || words.isPutOff(standing)) {
      const nobody = words.unhandled(standing, row.task, await this.offers.of(tenant, row.queue));
      if (nobody !== null) return nobody;
    }
    if (why !== null) return why;
    const inLine = row.gated ? await this.gates.lines.placeOf(tenant, id, WALK_LIMIT) : null;
    const ahead = inLine ?? (await this.#ahead(tenant, row));
    const gate = row.gated ? await this.gates.standing(row.queue) : null;
    const shut = gate && words.gated(ahead, standing, gate);
    return shut ?? (inLine === null ? words.behind(ahead, standing) : words.waitsForItsTurn(ahead, standing));
  }

  async #ahead(tenant: string, { queue, priority, scheduled_at, id }: StandingRow): Promise<number> {
    const statement = sql.count_ahead({ queue, priority, scheduled_at, id, max_jobs: WALK_LIMIT });
    const [row] = await this.db.read<{ n: number }>({ tenant, statement });
    return row?.n ?? 0;
  }
}

const toStanding = (row: StandingRow, lastLeaseAt: Instant | null, waitingFor: WaitingForRecord | null): Standing => ({
  now: toInstant(row.now),
  queue: row.queue,
  status: row.status,
  scheduledAt: toInstant(row.scheduled_at),
  startedAt: toInstantOrNull(row.started_at),
  completedAt: toInstantOrNull(row.completed_at),
  deliveryCount: row.delivery_count,
  workerId: row.worker,
  leaseExpiresAt: toInstantOrNull(row.lease_expires_at),
  pausedAt: toInstantOrNull(row.paused_at),
  lastLeaseAt,
  waitingFor,
  error: row.error,
});
