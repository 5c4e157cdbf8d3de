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
    Type.String({ description: 'The `next` of the last answer. Without it, the listing begins now.' }),
  ),
  limit: Type.Optional(Type.Integer({ ...ENDED_LIMITS, description: `How many ends are looked at. ${CLAMPED}` })),
  status: Type.Optional(
    Type.String({
      description: 'Only jobs that ended like this: `completed`, `failed`, `cancelled`; separated by commas.',
    }),
  ),
  queue: Type.Optional(Type.String({ description: 'Only jobs of this queue.' })),
  task: Type.Optional(Type.String({ description: 'Only jobs of this task.' })),
});

export const EndedJobs = Type.Object(
  {
    jobs: Type.Array(ref(JobSummary), { description: 'In the order in which they ended; each is listed once.' }),
    next: Type.String({ description: 'Pass it as `after` to continue. There is always one: more jobs may end.' }),
    more: Type.Boolean({ description: 'Whether more jobs have already ended. If so, ask again at once.' }),
    missed: Type.Boolean({
      description:
        'Whether ends since the last answer may be missing, because you last asked more than ' +
        `${FOLLOW_SECS} seconds ago.`,
    }),
  },
  { $id: 'EndedJobs', description: 'Jobs that have ended since the last answer.' },
);
export type EndedJobs = Static<typeof EndedJobs>;
