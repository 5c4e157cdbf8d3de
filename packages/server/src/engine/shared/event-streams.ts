import { unavailable } from '../../domain/errors.js';
import { TenantQuota } from './tenant-quota.js';

/** How many event streams may be open in this process, of jobs and of workflows together. Further ones are refused. */
export const MAX_STREAMS = 4_000;
export const MAX_STREAMS_PER_TENANT = 1_000;

export class EventStreams {
  readonly #open = new TenantQuota({ inAll: MAX_STREAMS, perTenant: MAX_STREAMS_PER_TENANT });

  /** Returns how to give it back; doing that again changes nothing. */
  take(tenant: string): () => void {
    if (!this.#open.take(tenant, 1)) throw unavailable('too many event streams are open; try again shortly');
    let isHeld = true;
    return () => {
      if (isHeld) this.#open.giveBack(tenant, 1);
      isHeld = false;
    };
  }
}
