import { example, JSON_OUTPUT, spec } from './spec.js';
import { BULK } from './jobs.js';
import { CREATED, LIST, ORDER } from './lists.js';

const REASONS = ['max_attempts_exceeded', 'non_retryable', 'handler_not_found'] as const;
const ID = { name: 'ID', help: 'the number of a dead letter, or @1 for the first row of the last list' } as const;

const FILTER = {
  queue: { value: 'QUEUE', help: 'of this queue' },
  task: { value: 'TASK', help: 'of this task' },
  reason: { value: 'REASON', help: `for this reason: ${REASONS.join(', ')}`, choices: REASONS },
  fingerprint: { value: 'FINGERPRINT', help: 'of this group, as dlq groups shows it' },
  ...CREATED,
} as const;

export const dlqList = spec({
  name: 'dlq list',
  summary: 'list the jobs that failed permanently, newest first',
  options: {
    ...FILTER,
    job: { value: 'ID', help: 'the dead letter of this job' },
    replayed: { help: 'only those that have been replayed' },
    'not-replayed': { help: 'only those that have not been replayed' },
    ...ORDER,
    ...LIST,
  },
  examples: [
    example('millrace dlq list --not-replayed --task resize', 'failures of a task that are still open'),
    example('millrace dlq list --all --jsonl', 'everything, one per line'),
  ],
  client: true,
});

export const dlqGroups = spec({
  name: 'dlq groups',
  summary: 'group failures by kind',
  options: {
    since: { value: 'INSTANT', help: 'only what failed since then: 2031-01-31T09:00:00Z, or 2h for two hours ago' },
    queue: FILTER.queue,
    task: FILTER.task,
    'not-replayed': { help: 'only what has not been replayed' },
    ...LIST,
  },
  examples: [example('millrace dlq groups --since 1d', 'what failed today, and how often')],
  client: true,
});

export const dlqGet = spec({
  name: 'dlq get',
  summary: 'show a dead letter',
  arguments: [ID],
  options: JSON_OUTPUT,
  examples: [example('millrace dlq get @1', 'the first row of the last list')],
  client: true,
});

export const dlqReplay = spec({
  name: 'dlq replay',
  summary: 'replay dead letters as new jobs',
  description:
    'One id prints the id of the new job. Several ids or a filter become an operation: it first says how many dead ' +
    'letters match, and asks. Those that were already replayed are skipped.',
  arguments: [
    {
      ...ID,
      name: 'ID…',
      help: 'numbers of dead letters, @1 and so on, or - for standard input',
      optional: true,
      many: true,
    },
  ],
  options: {
    ...FILTER,
    all: { help: 'all that have not been replayed' },
    key: { value: 'KEY', help: 'an idempotency key, for one id' },
    'keep-checkpoints': { help: 'do not run completed steps of durable jobs again' },
    ...BULK,
    ...JSON_OUTPUT,
  },
  examples: [
    example('millrace dlq replay @1', 'the first row of the last list'),
    example('millrace dlq replay --task resize --reason max_attempts_exceeded', 'after the cause is fixed'),
  ],
  client: true,
});
