import { randomBytes } from 'node:crypto';
import { int4Array, textArray, uuidArray } from '../../store/arrays.js';
import type { Holder } from './claimed-job.js';

/** For the jobs in one answer to a lease request. */
const MAX_LEASED_BYTES = 8 * 1024 * 1024;
/** The pool keeps the jobs it claims in this process, and works through them before it asks for more. */
const MAX_POOLED_BYTES = 32 * 1024 * 1024;

/**
 * The leases that a claim gives out: the k-th job claimed (from 0) is leased under the k-th token, for the k-th number
 * of seconds; or, if there is a token for a bundle, under that token together with others.
 */
export interface Slots {
  readonly count: number;
  /** Null: the claim makes them, as `tokenOf` says. */
  readonly tokens: Buffer | null;
  readonly secs: Buffer;
  readonly bundle: string | null;
  /** How many bytes of jobs a claim may return, beyond the first job. */
  readonly bytes: number;
  /** How many of the first jobs the pool may start at once; meaningless without a bundle. */
  readonly startable: number;
  /** The name of the worker of each slot, or of the pool; null: nobody gave one. */
  readonly workers: Buffer | null;
  tokenOf(k: number): string;
  holderOf(k: number): Holder;
  /** The slots that are left when the first `taken` ones are used. */
  after(taken: number): Slots;
}

export interface Slot extends Holder {
  readonly token: string;
}

/** Tokens that are given out one by one, to the callers that asked for jobs. */
export function separateSlots(slots: readonly Slot[]): Slots {
  return {
    count: slots.length,
    tokens: uuidArray(slots.map((slot) => slot.token)),
    secs: int4Array(slots.map((slot) => slot.leaseSecs)),
    bundle: null,
    bytes: MAX_LEASED_BYTES,
    startable: 0,
    workers: slots.some((slot) => slot.workerId !== null) ? textArray(slots.map((slot) => slot.workerId)) : null,
    tokenOf: (k) => slots[k]?.token ?? '',
    holderOf: (k) => slots[k]!,
    after: (taken) => separateSlots(slots.slice(taken)),
  };
}

/**
 * Tokens that stay in this process: they share a random base and are numbered from 1 in their last bytes, so that
 * tokens that are never looked at, which is nearly all of them, cost nothing. Number 0 is the bundle's, so that a token
 * leads to its claim.
 */
export function pooledSlots(count: number, holder: Holder, startable: number): Slots {
  const base = randomBytes(14).toString('hex').replace(UUID_PARTS, '$1-$2-$3-$4-');
  const token = (number: number): string => base + number.toString(16).padStart(4, '0');
  return {
    count,
    tokens: null,
    secs: int4Array([holder.leaseSecs]),
    bundle: token(0),
    bytes: MAX_POOLED_BYTES,
    startable,
    workers: textArray([holder.workerId]),
    tokenOf: (k) => token(k + 1),
    holderOf: () => holder,
    after: (taken) => pooledSlots(count - taken, holder, Math.max(0, startable - taken)),
  };
}

const UUID_PARTS = /^(.{8})(.{4})(.{4})(.{4})/;
