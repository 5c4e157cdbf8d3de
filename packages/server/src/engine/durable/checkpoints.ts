import { CHECKPOINTS_PER_JOB } from '@millrace/contract';
import { MillraceError } from '../../domain/errors.js';
import type { KeptCheckpoints } from '../../domain/kept-checkpoints.js';
import type { CheckpointRecord, JsonText } from '../../domain/records.js';
import { jsonArray, textArray, uuidArray } from '../../store/arrays.js';
import { Batcher } from '../../store/batcher.js';
import type { Database, Execute } from '../../store/connection/database.js';
import { toInstant } from '../../store/rows.js';
import { loadStatements, type Statement } from '../../store/sql.js';
import { leaseKeyColumns, type LeaseKey } from '../leases/lease-key.js';

/**
 * Named values of jobs. The first one under a name stands for ever, whichever attempt stored it: so a repeat is safe,
 * and the loser of a race learns what stands.
 */
const sql = loadStatements('durable/checkpoints.sql');
const retention = loadStatements('durable/retention.sql');

const BATCH = { maxItems: 1000, inFlight: 2, maxWaiting: 100_000 };

export interface NewCheckpoint extends LeaseKey {
  readonly name: string;
  readonly value: JsonText;
}

/** What stands under the name now, and whether this call put it there. Null: the lease is not held. */
export type CheckpointAnswer = { readonly value: JsonText; readonly isNew: boolean } | null;

interface StoredRow {
  readonly n: number;
  readonly stored: boolean;
  readonly taken: boolean;
  readonly counted: boolean;
}

interface CheckpointRow {
  readonly name: string;
  readonly value: JsonText;
  readonly at: string;
  readonly attempt: number;
}

/** Where the walk of retention goes on. */
export interface ExpiryBounds {
  readonly hours: number;
  readonly max_rows: number;
  readonly after_id: string;
}

/** For retention: removes the checkpoints of jobs that it has removed. */
export const expireCheckpoints = (bounds: ExpiryBounds): Statement => retention.expire_checkpoints(bounds);

/** Whose job a worker holds; null: it does not hold it. */
export async function tenantOfLease(execute: Execute, { id, token }: LeaseKey): Promise<string | null> {
  const [lease] = await execute<{ tenant: string }>(sql.tenant_of_lease({ id, token }));
  return lease?.tenant ?? null;
}

/** A job, and its copy. */
export interface CopiedJob {
  readonly from: string;
  readonly to: string;
}

/** Gives copies of jobs, which the same transaction creates, their checkpoints. All are the tenant's. */
export async function keepCheckpoints(
  execute: Execute,
  tenant: string,
  jobs: readonly CopiedJob[],
  kept: KeptCheckpoints,
): Promise<void> {
  if (jobs.length === 0) return;
  await execute(
    sql.keep_checkpoints({
      tenant,
      from_ids: uuidArray(jobs.map(({ from }) => from)),
      to_ids: uuidArray(jobs.map(({ to }) => to)),
      names: kept === true ? null : textArray(kept),
    }),
  );
}

export class Checkpoints {
  readonly #batches = new Batcher<NewCheckpoint, StoredRow | null>((items) => this.#storeAll(items), {
    ...BATCH,
    weigh: ({ value }) => value.length,
  });

  constructor(
    private readonly db: Database,
    /** Bounds all values of a job together. */
    private readonly maxBytes: number,
  ) {}

  async store(checkpoint: NewCheckpoint): Promise<CheckpointAnswer> {
    const row = await this.#batches.submit(checkpoint);
    if (row === null) return null;
    if (row.stored) return { value: checkpoint.value, isNew: true };
    const { id, name, value } = checkpoint;
    if (!row.taken && !row.counted) throw noRoom(name, this.maxBytes);
    // Another statement stored one under this name at the same moment.
    if (!row.taken) await this.db.run(sql.uncount_checkpoint({ id, value }));
    const [standing] = await this.db.run<{ value: JsonText }>(sql.checkpoint_of_job({ id, name }));
    // Retention has removed the job in between.
    return standing ? { value: standing.value, isNew: false } : null;
  }

  /** Whether a worker holds the job. */
  async isHeld(lease: LeaseKey): Promise<boolean> {
    return (await tenantOfLease(this.db.run, lease)) !== null;
  }

  async of(id: string): Promise<readonly CheckpointRecord[]> {
    const rows = await this.db.run<CheckpointRow>(sql.checkpoints_of_job({ id }));
    return rows.map(({ at, ...row }) => ({ ...row, at: toInstant(at) }));
  }

  /** A statement names each job once; a second value for one goes with the next. */
  async #storeAll(items: readonly NewCheckpoint[]): Promise<(StoredRow | null)[]> {
    const answers = new Array<StoredRow | null>(items.length).fill(null);
    let waiting = items.map((_, index) => index);
    while (waiting.length > 0) {
      const named = new Set<string>();
      const turn: number[] = [];
      const later: number[] = [];
      for (const index of waiting) {
        const { id } = items[index]!;
        if (named.has(id)) later.push(index);
        else turn.push(index);
        named.add(id);
      }
      for (const row of await this.#storeTurn(turn.map((index) => items[index]!))) answers[turn[row.n - 1]!] = row;
      waiting = later;
    }
    return answers;
  }

  #storeTurn(items: readonly NewCheckpoint[]): Promise<StoredRow[]> {
    return this.db.run<StoredRow>(
      sql.store_checkpoints({
        names: textArray(items.map(({ name }) => name)),
        values: jsonArray(items.map(({ value }) => value)),
        max_bytes: this.maxBytes,
        max_count: CHECKPOINTS_PER_JOB,
        ...leaseKeyColumns(items),
      }),
    );
  }
}

function noRoom(name: string, maxBytes: number): MillraceError {
  const message = `a job has at most ${CHECKPOINTS_PER_JOB} checkpoints and ${maxBytes} bytes of them`;
  return new MillraceError(
    'payload_too_large',
    `there is no room for the checkpoint ${JSON.stringify(name)}: ${message}`,
    [{ path: 'value', message }],
  );
}
