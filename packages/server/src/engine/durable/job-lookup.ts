import type { JobStatus } from '@millrace/contract';
import type { Execute } from '../../store/connection/database.js';

/** What this folder needs to know of jobs; engine/jobs knows it. */
export interface JobLookup {
  /** Whose job it is and its status, by id alone; null: there is none. */
  owner(id: string, execute?: Execute): Promise<{ readonly tenant: string; readonly status: JobStatus } | null>;
}
