import { Type, type Static } from 'typebox';
import { Job } from './jobs.js';
import { callerObject, ref } from './schema.js';
import { WorkflowEvent } from './workflow-progress.js';

/** Server-sent events: their names, and their data once it is parsed. */

export const JobStatusEvent = Type.Object(
  { event: Type.Literal('status'), data: ref(Job) },
  { $id: 'JobStatusEvent', description: 'The job as it is at the start, and after every transition.' },
);
export type JobStatusEvent = Static<typeof JobStatusEvent>;

export const JobProgressEvent = Type.Object(
  { event: Type.Literal('progress'), data: callerObject({ description: 'The progress, exactly as it was reported.' }) },
  { $id: 'JobProgressEvent', description: 'What the running attempt has reported since the last event.' },
);
export type JobProgressEvent = Static<typeof JobProgressEvent>;

export const WorkflowStatusEvent = Type.Object(
  { event: Type.Literal('status'), data: ref(WorkflowEvent) },
  {
    $id: 'WorkflowStatusEvent',
    description: 'The workflow and its steps as they are at the start, and after every change of either.',
  },
);
export type WorkflowStatusEvent = Static<typeof WorkflowStatusEvent>;
