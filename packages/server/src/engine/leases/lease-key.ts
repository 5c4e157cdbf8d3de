import { uuidArray } from '../../store/arrays.js';

/** Identifies a lease: the job and the token under which it is held. */
export interface LeaseKey {
  readonly id: string;
  readonly token: string;
}

/** The two array parameters of a statement. A null token matches any, where the statement allows it. */
export const leaseKeyColumns = (
  leases: readonly { readonly id: string; readonly token: string | null }[],
): Buffer[] => [uuidArray(leases.map((lease) => lease.id)), uuidArray(leases.map((lease) => lease.token))];
