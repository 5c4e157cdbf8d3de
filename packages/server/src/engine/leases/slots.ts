import { randomBytes } from 'node:crypto';
import { int4Array, textArray, uuidArray } from '../../store/arrays.js';
import { loadStatements, type Bindable, type Statement } from '../../store/sql.js';
import type { Holder } from './claimed-job.js';

const sql = loadStatements('leases/claim.sql');

/** For the jobs in one answer to a lease request. */
const MAX_LEASED_BYTES = 8 * 1024 * 1024;
/** The pool keeps the jobs it claims in this process, and works through them before it asks for more. */
const MAX_POOLED_BYTES = 32 * 1024 * 1024;

/** So few jobs of a tenant have leases of their own. */
const BUNDLE_FROM = 4;
const NEVER = 2_147_483_647;

/**
 * The leases that a claim gives out: the k-th job claimed (from 0) is leased under the k-th token, for the k-th number
 * of seconds; or, if there is a token for a bundle, under that token together with others.
 */
export interface Slots {
  readonly count: number;
  readonly bundle: string | null;
  /** How many bytes of jobs a claim may return, beyond the first job. */
  readonly bytes: number;
  /** How many of the first jobs the pool may start at once; meaningless without a bundle. */
  readonly startable: number;
  /** The statement that fills them. */
  claim(wanted: Wanted): Statement;
  /** The same where tenants take turns; `mayBundle`: jobs are not counted one by one. */
  share(wanted: WantedInTurns, mayBundle: boolean): Statement;
  tokenOf(k: number): string;
  holderOf(k: number): Holder;
  /** The slots that are left when the first `taken` ones are used. */
  after(taken: number): Slots;
  /** These of them (from 0), for a claim of its own, which may return so many bytes. */
  pick(places: readonly number[], bytes: number): Slots;
}

interface WantedAnyhow {
  readonly queue: string;
  readonly max_jobs: number;
  readonly max_bytes: number;
  readonly later_floor: string;
  readonly known_contexts: Bindable;
  /** The caller holds the gate of the queue. */
  readonly gate_held: boolean;
}

/** Which jobs a claim is after, whoever they are for. */
export interface Wanted extends WantedAnyhow {
  readonly floor_priorities: Bindable;
  readonly floor_instants: Bindable;
}

/** The same where tenants take turns. */
export interface WantedInTurns extends WantedAnyhow {
  readonly at_a_time: number;
  readonly max_lines: number;
}

export interface Slot extends Holder {
  readonly token: string;
}

/** Tokens that are given out one by one, to the callers that asked for jobs. */
export function separateSlots(slots: readonly Slot[], bytes = MAX_LEASED_BYTES): Slots {
  const leases = () => ({
    tokens: uuidArray(slots.map((slot) => slot.token)),
    secs: int4Array(slots.map((slot) => slot.leaseSecs)),
    workers: slots.some((slot) => slot.workerId !== null) ? textArray(slots.map((slot) => slot.workerId)) : null,
  });
  return {
    count: slots.length,
    bundle: null,
    bytes,
    startable: 0,
    claim: (wanted) => sql.claim_for_workers({ ...leases(), ...wanted }),
    share: (wanted) => sql.share_for_workers({ ...leases(), ...wanted }),
    tokenOf: (k) => slots[k]?.token ?? '',
    holderOf: (k) => slots[k]!,
    after: (taken) => separateSlots(slots.slice(taken), bytes),
    pick: (places, most) =>
      separateSlots(
        places.map((k) => slots[k]!),
        most,
      ),
  };
}

/**
 * Tokens that stay in this process: they share a random base and are numbered from 1 in their last bytes, so that
 * tokens that are never looked at, which is nearly all of them, cost nothing. Number 0 is the bundle's, so that a token
 * leads to its claim.
 */
export function pooledSlots(count: number, holder: Holder, startable: number, bytes = MAX_POOLED_BYTES): Slots {
  const base = randomBytes(14).toString('hex').replace(UUID_PARTS, '$1-$2-$3-$4-');
  const token = (number: number): string => base + number.toString(16).padStart(4, '0');
  return {
    count,
    bundle: token(0),
    bytes,
    startable,
    claim: (wanted) =>
      sql.claim_for_pool({
        bundle: token(0),
        secs: holder.leaseSecs,
        startable,
        worker: holder.workerId,
        bundle_from: wanted.gate_held ? NEVER : BUNDLE_FROM,
        ...wanted,
      }),
    share: (wanted, mayBundle) =>
      sql.share_for_pool({
        bundle: token(0),
        secs: holder.leaseSecs,
        startable,
        worker: holder.workerId,
        bundle_from: mayBundle ? BUNDLE_FROM : NEVER,
        ...wanted,
      }),
    tokenOf: (k) => token(k + 1),
    holderOf: () => holder,
    after: (taken) => pooledSlots(count - taken, holder, Math.max(0, startable - taken), bytes),
    pick: (places, most) =>
      pooledSlots(places.length, holder, Math.ceil((startable * places.length) / Math.max(1, count)), most),
  };
}

const UUID_PARTS = /^(.{8})(.{4})(.{4})(.{4})/;
