import { Type, type Static } from 'typebox';
import { page } from './common.js';
import { instant, nullable, oneOf, ref, uuid } from './schema.js';

export const DEAD_LETTER_REASONS = ['max_attempts_exceeded', 'non_retryable', 'handler_not_found'] as const;
export type DeadLetterReason = (typeof DEAD_LETTER_REASONS)[number];

export const DeadLetter = Type.Object(
  {
    id: Type.Integer({ description: 'Identifier assigned by the service (int64).' }),
    job_id: uuid({ description: 'The job that failed. Retention may have removed it.' }),
    queue_name: Type.String({ description: 'The queue the job was on.' }),
    task_name: Type.String({ description: 'The task that failed.' }),
    reason: oneOf(DEAD_LETTER_REASONS, { description: 'Why the job failed for good.' }),
    error_message: nullable(Type.String({ description: 'The error that the last attempt reported.' })),
    created_at: instant({ description: 'When the job failed for good.' }),
    replayed_at: nullable(instant({ description: 'When the entry was replayed; null if it never was.' })),
    replay_job_id: nullable(uuid({ description: 'The new job that the replay created.' })),
    tenant_id: Type.String({ description: 'The tenant that owns the entry.' }),
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
      },
    ],
  },
);
export type DeadLetter = Static<typeof DeadLetter>;

export const DeadLetterParams = Type.Object({
  id: Type.String({ description: 'Identifier of the dead letter: a whole number (int64).', examples: ['17'] }),
});

export const DeadLetterPage = page('dead_letters', ref(DeadLetter), {
  $id: 'DeadLetterPage',
  description: 'One page of dead letters.',
});
export type DeadLetterPage = Static<typeof DeadLetterPage>;
