import { Type, type Static } from 'typebox';
import { CLAMPED } from './common.js';
import { JobSummary } from './jobs.js';
import { ref } from './schema.js';

/** Jobs in the order in which they ended. */

export const ENDED_LIMITS = { minimum: 1, maximum: 1000, default: 100 } as const;
/** Whoever asks less often than this is told that ends may be missing. */
export const FOLLOW_SECS = 120;

export const EndedJobsQuery = Type.Object({
  after: Type.Optional(
    Type.String({ description: 'The `next` of the answer before. Without it, the answer says where to begin: now.' }),
  ),
  limit: Type.Optional(Type.Integer({ ...ENDED_LIMITS, description: `How many ends are looked at. ${CLAMPED}` })),
  status: Type.Optional(
    Type.String({ description: 'Only jobs that ended so: `completed`, `failed`, `cancelled`; several with commas.' }),
  ),
  queue: Type.Optional(Type.String({ description: 'Only jobs of this queue.' })),
  task: Type.Optional(Type.String({ description: 'Only jobs of this task.' })),
});

export const EndedJobs = Type.Object(
  {
    jobs: Type.Array(ref(JobSummary), { description: 'In the order in which they ended; each is told once.' }),
    next: Type.String({ description: 'Pass it as `after` to go on. There is always one: more may end.' }),
    more: Type.Boolean({ description: 'Whether others have ended already. Ask for them at once.' }),
    missed: Type.Boolean({
      description: `Whether ends since the answer before may be missing: you asked more than ${FOLLOW_SECS} seconds ago.`,
    }),
  },
  { $id: 'EndedJobs', description: 'Jobs that have ended since the answer before.' },
);
export type EndedJobs = Static<typeof EndedJobs>;
