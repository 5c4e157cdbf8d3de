import { uuidArray } from '../../store/arrays.js';

/** What names a lease: the job and the token under which it is held. A null token: whichever it is. */
export interface LeaseKey {
  readonly id: string;
  readonly token: string;
}

/** As the two array parameters of a statement. */
export const leaseKeyColumns = (
  leases: readonly { readonly id: string; readonly token: string | null }[],
): Buffer[] => [uuidArray(leases.map((lease) => lease.id)), uuidArray(leases.map((lease) => lease.token))];
