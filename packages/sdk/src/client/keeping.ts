import type * as Wire from '../wire/index.js';

/** What a copy of a durable job begins with. */
export interface Keeping {
  /** Steps that need not run again: all that the job has completed (true), or those with these names. */
  keepCheckpoints?: boolean | readonly string[];
}

/** As the service reads it; no body if nothing is kept, as for servers that know nothing of it. */
export function keepingBody({ keepCheckpoints: kept }: Keeping): { body?: Wire.ReplayRequest } {
  if (kept === undefined || kept === false) return {};
  return { body: { keep_checkpoints: kept === true ? true : [...kept] } };
}
