import type { Room } from '../../domain/limits.js';
import {
  claimsLookSecs,
  fullBucket,
  fullSecs,
  nextTokenSecs,
  refill,
  type Bucket,
  type Rate,
} from '../../domain/rates.js';
import { float8Array, int4Array, textArray, uuidArray } from '../../store/arrays.js';
import type { Execute } from '../../store/connection/database.js';
import { loadStatements } from '../../store/sql.js';

/** The rates of limits that somebody holds: what their buckets contain, and what is written of them. */
const sql = loadStatements('limits/admit.sql');

/** What `read_lines` says of a limit's rate. */
export interface RateRow {
  readonly id: string;
  readonly rate_count: number | null;
  readonly rate_secs: number | null;
  readonly rate_burst: number | null;
  readonly old_count: number | null;
  readonly old_secs: number | null;
  readonly old_burst: number | null;
  readonly tokens: number | null;
  readonly now: string;
  readonly elapsed_secs: number | null;
  readonly waited: boolean;
  readonly given: number;
  readonly gone: number;
  readonly refunded: number;
  readonly oldest_secs: number | null;
}

/** A job that was let into its queue. */
export interface AdmittedJob {
  readonly tenant: string;
  readonly id: string;
  readonly limits: readonly string[];
}

/** Undefined: it has no rate. */
export function tokenBucketOf(row: Omit<RateRow, 'id' | 'now' | 'oldest_secs'>): Bucket | undefined {
  const rate = toRate(row.rate_count, row.rate_secs, row.rate_burst);
  if (rate === null) return undefined;
  const old = toRate(row.old_count, row.old_secs, row.old_burst);
  if (old === null || row.tokens === null || row.elapsed_secs === null) return fullBucket(rate);
  const { tokens, waited, gone, refunded } = row;
  return refill(
    { rate: old, tokens, elapsedSecs: row.elapsed_secs, waited, unclaimed: row.given, gone, refunded },
    rate,
  );
}

function toRate(count: number | null, perSecs: number | null, burst: number | null): Rate | null {
  return count === null || perSecs === null ? null : { count, perSecs, burst: burst ?? 1 };
}

/**
 * Writes what became of the buckets. Returns when to look at which limits again, in seconds. Costs nothing where no
 * limit has a rate.
 */
export async function keepRates(
  execute: Execute,
  rows: readonly RateRow[],
  rooms: ReadonlyMap<string, Room>,
  admitted: readonly AdmittedJob[],
): Promise<ReadonlyMap<string, number>> {
  const rated = rows.filter((row) => rooms.get(row.id)!.bucket !== undefined || row.old_count !== null);
  if (rated.length === 0) return new Map();
  const looks = rated.map((row) => nextLookSecs(rooms.get(row.id)!, row.oldest_secs ?? 0));
  const buckets = rated.map(({ id }) => rooms.get(id)!.bucket);
  const tokens = admitted.flatMap(({ tenant, id, limits }) =>
    limits.filter((limit) => rooms.get(limit)?.bucket !== undefined).map((limit) => ({ tenant, id, limit })),
  );
  await execute(
    sql.keep_rates({
      ids: uuidArray(rated.map(({ id }) => id)),
      counts: int4Array(buckets.map((bucket) => bucket?.rate.count ?? null)),
      secs: int4Array(buckets.map((bucket) => bucket?.rate.perSecs ?? null)),
      bursts: int4Array(buckets.map((bucket) => bucket?.rate.burst ?? null)),
      tokens: float8Array(buckets.map((bucket) => bucket?.tokens ?? null)),
      next_secs: float8Array(looks),
      full_secs: float8Array(buckets.map((bucket) => (bucket ? fullSecs(bucket) : null))),
      now: rated[0]!.now,
      token_limits: uuidArray(tokens.map(({ limit }) => limit)),
      token_jobs: uuidArray(tokens.map(({ id }) => id)),
      token_tenants: textArray(tokens.map(({ tenant }) => tenant)),
    }),
  );
  const freed = rated.filter(({ id, given }) => given > 0 && rooms.get(id)!.bucket === undefined);
  if (freed.length > 0) await execute(sql.forget_tokens({ ids: uuidArray(freed.map(({ id }) => id)) }));
  return new Map(rated.flatMap(({ id }, n) => (looks[n] === null ? [] : [[id, looks[n]!] as const])));
}

/** Null: nothing changes before somebody gives room back, or asks for it. */
function nextLookSecs({ running, most, waiting, bucket }: Room, oldestSecs: number): number | null {
  if (bucket === undefined) return null;
  const token = waiting && running < most ? nextTokenSecs(bucket) : null;
  return token ?? (bucket.unclaimed > 0 ? claimsLookSecs(oldestSecs) : null);
}

/** What could not be let in after all gets nothing, and what it would have taken stays. */
export function giveBack(rooms: ReadonlyMap<string, Room>, { limits }: AdmittedJob): void {
  for (const id of limits) {
    const bucket = rooms.get(id)?.bucket;
    if (bucket === undefined) continue;
    bucket.tokens++;
    bucket.unclaimed--;
  }
}
