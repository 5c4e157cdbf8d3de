import { Type, type Static } from 'typebox';
import { listQueryFields, page, searchedTo, warnings } from './common.js';
import { instant, int64, nullable, oneOf, ref, uuid } from './schema.js';

export const DEAD_LETTER_REASONS = ['max_attempts_exceeded', 'non_retryable', 'handler_not_found'] as const;
export type DeadLetterReason = (typeof DEAD_LETTER_REASONS)[number];

export const DeadLetter = Type.Object(
  {
    id: int64({ description: 'Identifier assigned by the service.' }),
    job_id: uuid({ description: 'The job that failed. Retention may have removed it.' }),
    queue_name: Type.String({ description: 'The queue the job was on.' }),
    task_name: Type.String({ description: 'The task that failed.' }),
    reason: oneOf(DEAD_LETTER_REASONS, { description: 'Why the job failed for good.' }),
    error_message: nullable(Type.String({ description: 'The error that the last attempt reported.' })),
    created_at: instant({ description: 'When the job failed for good.' }),
    replayed_at: nullable(instant({ description: 'When the entry was replayed; null if it never was.' })),
    replay_job_id: nullable(uuid({ description: 'The new job that the replay created.' })),
    tenant_id: Type.String({ description: 'The tenant that owns the entry.' }),
    payload_bytes: nullable(
      Type.Integer({ description: "Size of the job's payload in bytes; null if retention has removed the job." }),
    ),
    retry_count: nullable(
      Type.Integer({
        description: 'Retries that the job had used; null in an entry of an earlier version whose job is gone.',
      }),
    ),
    fingerprint: Type.String({
      description: 'The same for entries of one task, one reason and one kind of error: see `/dlq/groups`.',
    }),
  },
  {
    $id: 'DeadLetter',
    description: 'The record of a job that failed for good. It can be replayed once.',
    examples: [
      {
        id: 17,
        job_id: '019bd0e5-7c58-7a5f-9c0e-2f9f6a0f8f10',
        queue_name: 'emails',
        task_name: 'send_welcome',
        reason: 'max_attempts_exceeded',
        error_message: 'smtp: connection refused',
        created_at: '2026-01-31T09:12:00.123456Z',
        replayed_at: null,
        replay_job_id: null,
        tenant_id: 'acme',
        payload_bytes: 14,
        retry_count: 3,
        fingerprint: '6f1c2ab09d3e4f57',
      },
    ],
  },
);
export type DeadLetter = Static<typeof DeadLetter>;

export const DeadLetterParams = Type.Object({
  id: int64({ description: 'Identifier of the dead letter.', examples: [17] }),
});

export const DeadLetterPage = Type.Object(
  { ...page('dead_letters', ref(DeadLetter), {}).properties, searched_to: searchedTo, warnings },
  { $id: 'DeadLetterPage', description: 'One page of dead letters.' },
);
export type DeadLetterPage = Static<typeof DeadLetterPage>;

/** The filters of a list of dead letters: names and meaning are the same in the filter of a bulk operation. */
export const deadLetterFilterFields = {
  queue_name: Type.Optional(Type.String({ description: 'Only entries of this queue. (`queue` has no effect here.)' })),
  task_name: Type.Optional(Type.String({ description: 'Only entries of this task.' })),
  reason: Type.Optional(oneOf(DEAD_LETTER_REASONS, { description: 'Only entries with this reason.' })),
  replayed: Type.Optional(Type.Boolean({ description: 'Only entries that have been replayed, or that have not.' })),
  job_id: Type.Optional(Type.String({ description: 'Only the entry of this job.' })),
  fingerprint: Type.Optional(Type.String({ description: 'Only entries of this group.' })),
};

export const DeadLetterListQuery = Type.Object({ ...deadLetterFilterFields, ...listQueryFields });

export const DeadLetterGroupsQuery = Type.Object({
  since: Type.Optional(instant({ description: 'Only entries written at or after this instant.' })),
  queue_name: deadLetterFilterFields.queue_name,
  task_name: deadLetterFilterFields.task_name,
  replayed: deadLetterFilterFields.replayed,
  limit: listQueryFields.limit,
  cursor: listQueryFields.cursor,
});

export const DeadLetterGroup = Type.Object(
  {
    fingerprint: Type.String({ description: 'Pass it as `fingerprint` to list or replay the group.' }),
    task_name: Type.String({ description: 'The task that failed.' }),
    reason: oneOf(DEAD_LETTER_REASONS, { description: 'Why its jobs failed for good.' }),
    message: nullable(
      Type.String({ description: 'The first line of the error, with ids and numbers replaced by placeholders.' }),
    ),
    count: Type.Integer({ description: 'How many entries the group has.' }),
    open: Type.Integer({ description: 'How many of them have not been replayed.' }),
    first_at: instant({ description: 'When its oldest entry was written.' }),
    last_at: instant({ description: 'When its newest entry was written.' }),
    latest_id: int64({ description: 'The newest entry.' }),
  },
  { $id: 'DeadLetterGroup', description: 'Dead letters that failed in the same way.' },
);
export type DeadLetterGroup = Static<typeof DeadLetterGroup>;

export const DeadLetterGroups = Type.Object(
  {
    groups: Type.Array(ref(DeadLetterGroup), { description: 'The group with the newest entry first.' }),
    has_more: Type.Boolean({ description: 'Whether another page follows.' }),
    next_cursor: Type.Optional(Type.String({ description: 'Pass it as `cursor` to get the next page.' })),
    searched_to: searchedTo,
    warnings,
  },
  { $id: 'DeadLetterGroups' },
);
export type DeadLetterGroups = Static<typeof DeadLetterGroups>;
