import { jsonElements, jsonMember, type Wire } from '@millrace/sdk';
import type { Connection } from '../connection/connect.js';
import { fields } from '../show/table.js';
import type { Column } from '../show/table.js';
import { age, until } from '../show/time.js';

export type JobSummary = Omit<Wire.Job, 'payload' | 'result' | 'metadata'>;

export const tries = ({ retry_count: retries, config, delivery_count: deliveries }: JobSummary): string =>
  `${deliveries === 0 ? 0 : retries + 1}/${config.max_retries + 1}`;

export const jobColumns = (now: Date): readonly Column<JobSummary>[] => [
  { title: 'ID', kind: 'id', cell: ({ id }) => id },
  { title: 'TASK', kind: 'text', cell: ({ task_name: task }) => task },
  { title: 'QUEUE', kind: 'text', cell: ({ queue_name: queue }) => queue },
  { title: 'STATUS', kind: 'state', cell: ({ status }) => status },
  { title: 'TRIES', cell: tries },
  { title: 'AGE', cell: ({ created_at: at }) => age(at, now) },
  { title: 'ERROR', kind: 'text', cell: (job) => job.error_message ?? waiting(job, now) },
];

/** Instead of an error: until when it waits. */
function waiting({ status, scheduled_at: due }: JobSummary, now: Date): string | null {
  if (status !== 'pending' && status !== 'retrying') return null;
  return Date.parse(due) > now.getTime() ? `due ${until(due, now) ?? ''}` : null;
}

/** The JSON of a job as lines. Payload, result and metadata are shown as they came. */
export function jobFields(text: string, { look }: Connection): string {
  const job = JSON.parse(text) as Wire.Job;
  const json = (name: string): string | null => {
    const value = jsonMember(text, name);
    return value === undefined || value === 'null' || value === '{}' ? null : value;
  };
  return fields(
    [
      ['id', job.id],
      ['task', job.task_name],
      ['queue', job.queue_name],
      ['status', job.status],
      ['tries', tries(job)],
      ['error', job.error_message],
      ['created', job.created_at],
      ['due', job.started_at === null ? job.scheduled_at : null],
      ...waitFields(text, job.waiting_for),
      ['started', job.started_at],
      ['completed', job.completed_at],
      ['next retry', job.next_retry_at],
      ['worker', job.worker_id],
      ['lease until', job.lease_expires_at],
      ['key', job.idempotency_key],
      ['workflow', job.workflow_id],
      ['step', job.workflow_step_id],
      ['progress', json('progress')],
      ['metadata', json('metadata')],
      ['payload', jsonMember(text, 'payload')],
      ['result', json('result')],
    ],
    look.paint,
  );
}

/** What a suspended job waits for. The question is shown as it came, with the answers to choose from. */
function waitFields(text: string, wait: Wire.WaitingFor | null | undefined): [string, string | null][] {
  if (!wait) return [];
  const { ask } = wait;
  const asked = jsonMember(jsonMember(text, 'waiting_for') ?? '{}', 'ask') ?? '{}';
  const choices = ask?.choices ? [...jsonElements(jsonMember(asked, 'choices') ?? '[]')] : [];
  return [
    ['waiting for', awaited(wait)],
    ['until', wait.until],
    ['asks', ask?.text ?? null],
    ...choices.map((choice, n): [string, string] => [
      n === 0 ? 'choices' : '',
      `${ask?.choices?.[n]?.label ?? ''}: ${jsonMember(choice, 'value') ?? 'null'}`,
    ]),
  ];
}

function awaited({ signal, key, checkpoint, children }: Wire.WaitingFor): string {
  if (signal !== null) return `signal ${signal}, key ${key ?? ''}`;
  return children === null ? `${checkpoint} (asleep)` : `${children.unfinished} of ${children.total} children`;
}
