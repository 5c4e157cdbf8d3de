import { Type, type Static, type TInteger } from 'typebox';
import { instant, nullable, ref } from './schema.js';

export const Health = Type.Object(
  {
    status: Type.Literal('healthy'),
    timestamp: instant({ description: "The server's clock." }),
    version: Type.String({ description: 'Version of the running server.', examples: ['0.2.0'] }),
  },
  { $id: 'Health', description: 'The process is up. Says nothing about the database.' },
);
export type Health = Static<typeof Health>;

export const Ready = Type.Object({ status: Type.Literal('ready') }, { $id: 'Ready' });
export type Ready = Static<typeof Ready>;

const counter = (description: string): TInteger => Type.Integer({ description });

export const Stats = Type.Object(
  {
    jobs_created: counter('Jobs created.'),
    jobs_completed: counter('Jobs completed.'),
    jobs_failed: counter('Jobs that failed for good.'),
    jobs_retried: counter('Failed attempts followed by a retry.'),
    jobs_dead_lettered: counter('Dead letters written.'),
    jobs_cancelled: counter('Jobs cancelled.'),
    workflows_created: counter('Workflows created.'),
    workflows_completed: counter('Workflows completed.'),
    workflows_failed: counter('Workflows that failed, wholly or in part.'),
  },
  {
    $id: 'Stats',
    description: "What this process has done for the caller's tenant since it started.",
  },
);
export type Stats = Static<typeof Stats>;

export const Tasks = Type.Object(
  {
    tasks: Type.Array(Type.String(), {
      description: 'Names of the tasks that this server has handlers for, sorted.',
      examples: [['echo', 'fail', 'log', 'sleep']],
    }),
  },
  { $id: 'Tasks' },
);
export type Tasks = Static<typeof Tasks>;

export const QueueDepth = Type.Object(
  {
    queue: Type.String({ description: 'Name of the queue.' }),
    pending: Type.Integer({ description: 'Jobs that can be claimed now, including retries that are due.' }),
    scheduled: Type.Integer({ description: 'Jobs that are not due yet.' }),
    running: Type.Integer({ description: 'Jobs that a worker holds under a lease.' }),
    oldest_pending_age_secs: nullable(
      Type.Number({ description: 'How long the longest-waiting claimable job has been claimable; null if none is.' }),
    ),
  },
  { $id: 'QueueDepth' },
);
export type QueueDepth = Static<typeof QueueDepth>;

export const Queues = Type.Object(
  {
    queues: Type.Array(ref(QueueDepth), {
      description: "The queues that hold unfinished jobs of the caller's tenant.",
    }),
  },
  { $id: 'Queues' },
);
export type Queues = Static<typeof Queues>;
