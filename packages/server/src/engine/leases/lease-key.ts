import { uuidArray } from '../../store/arrays.js';

/** Identifies a lease: the job and the token under which it is held. */
export interface LeaseKey {
  readonly id: string;
  readonly token: string;
}

/** The two arrays that name leases to a statement. A null token matches any, where the statement allows it. */
export const leaseKeyColumns = (
  leases: readonly { readonly id: string; readonly token: string | null }[],
): { readonly ids: Buffer; readonly tokens: Buffer } => ({
  ids: uuidArray(leases.map((lease) => lease.id)),
  tokens: uuidArray(leases.map((lease) => lease.token)),
});
