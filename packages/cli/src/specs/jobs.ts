import { example, JSON_OUTPUT, spec, WATCH } from './spec.js';
import { CREATED, LIST, ORDER } from './lists.js';

const STATES = ['pending', 'running', 'retrying', 'completed', 'failed', 'cancelled'] as const;
const ID = { name: 'ID', help: 'the id of a job, @last, or @1 for the first row of the last list' } as const;

/** Of everything that changes one job, or many at once. */
const IDS = {
  ...ID,
  name: 'ID…',
  help: 'ids of jobs, @last, @1 and so on, or - for standard input',
  many: true,
} as const;

const FILTER = {
  status: { value: 'STATE,…', help: `in one of these states: ${STATES.join(', ')}`, choices: STATES },
  queue: { value: 'QUEUE', help: 'of this queue' },
  due: { value: 'yes|no', help: 'waiting jobs that are due (yes) or not yet (no)', choices: ['yes', 'no'] },
  task: { value: 'TASK', help: 'of this task' },
  workflow: { value: 'ID', help: 'the steps of this workflow' },
  error: { value: 'TEXT', help: 'failed or retrying, with this in the error' },
  metadata: { value: 'FIELD=VALUE', help: 'with this in the metadata' },
  ...CREATED,
} as const;

/** Of everything that changes many things at once. */
export const BULK = {
  yes: { help: 'do not ask', short: 'y' },
  'dry-run': { help: 'only say how many there are, and show the first ones' },
  'no-wait': { help: 'print the id of the operation and do not wait for it' },
} as const;

const POLICY = {
  queue: { value: 'QUEUE', help: "the queue; otherwise the server's default queue" },
  priority: { value: 'N', help: 'higher goes first; default 0' },
  retries: { value: 'N', help: 'retries after the first attempt; default 3' },
  backoff: { value: 'KIND', help: 'how the delay between them grows', choices: ['fixed', 'linear', 'exponential'] },
  'retry-delay': { value: 'DURATION', help: 'the first delay; default 60s' },
  'job-timeout': { value: 'DURATION', help: 'how long an attempt may take; default 5m' },
} as const;

/** How long `--wait`, `jobs wait` and others wait. */
export const TIMEOUT = { timeout: { value: 'DURATION', help: 'how long to wait; default 5m' } } as const;

export const run = spec({
  name: 'run',
  summary: 'enqueue a job, and optionally wait for its result',
  description:
    'Prints the id of the job; with --wait its result, while progress is shown on the terminal. If the job fails, ' +
    'the error goes to standard error and the exit code is 3; if it has not ended in time, 8.',
  arguments: [
    { name: 'TASK', help: 'the name of the task' },
    { name: 'PAYLOAD', help: 'a JSON object, or - for standard input; default {}', optional: true },
  ],
  options: {
    ...POLICY,
    delay: { value: 'DURATION', help: 'run it this long from now' },
    at: { value: 'INSTANT', help: 'run it at this time: 2031-01-31T09:00:00Z' },
    expires: { value: 'DURATION', help: 'cancel it if no worker has started it by then' },
    unique: { value: 'KEY', help: 'use an existing job of this key, if there is one' },
    while: {
      value: 'STATE',
      help: 'with --unique: a job holds the key until a worker takes it, or until it has ended; default waiting',
      choices: ['waiting', 'unfinished'],
    },
    key: { value: 'KEY', help: 'an idempotency key: the same key creates one job' },
    metadata: { value: 'JSON', help: 'stored with the job and returned as it is' },
    wait: { help: 'wait until it has ended, and print its result' },
    ...TIMEOUT,
    ...JSON_OUTPUT,
  },
  examples: [
    example(`millrace run echo '{"hello":"world"}' --wait`, 'runs a built-in task and prints what it returned'),
    example(`millrace run resize '{"image":7}' --queue images --delay 10m`, 'enqueues it for later'),
    example(
      `echo '{"image":8}' | millrace run resize - --queue images --key image-8`,
      'reads the payload from a pipe; the key makes it one job',
    ),
    example('millrace run rebuild --queue sites --unique site-7 --expires 1h', 'once, however often it is called'),
  ],
  client: true,
});

export const jobsList = spec({
  name: 'jobs list',
  summary: 'list jobs, newest first',
  options: { ...FILTER, key: { value: 'KEY', help: 'created with this idempotency key' }, ...ORDER, ...LIST },
  examples: [
    example('millrace jobs list --status failed,cancelled --created-after 2h', 'what went wrong in the last two hours'),
    example('millrace jobs list --queue emails --watch', 'follow a queue'),
    example('millrace jobs list --task echo --all --jsonl', 'every job of a task, one per line'),
  ],
  client: true,
});

export const jobsGet = spec({
  name: 'jobs get',
  summary: 'show a job',
  arguments: [ID],
  options: { ...JSON_OUTPUT, ...WATCH },
  examples: [
    example('millrace jobs get @last', 'the last job created from here'),
    example('millrace jobs get @1 --json', 'the first row of the last list, as the API returns it'),
  ],
  client: true,
});

export const jobsCreate = spec({
  name: 'jobs create',
  summary: 'create a job from its JSON',
  description: 'Takes the body of `POST /jobs` and prints the id of the job.',
  arguments: [{ name: 'BODY', help: 'a JSON object, or - for standard input' }],
  options: { key: { value: 'KEY', help: 'an idempotency key: the same key creates one job' }, ...JSON_OUTPUT },
  examples: [
    example(`millrace jobs create '{"task_name":"echo","config":{"priority":5}}'`, 'with a priority'),
    example('millrace jobs create - <job.json', 'from a file'),
  ],
  client: true,
});

export const jobsImport = spec({
  name: 'jobs import',
  summary: 'create many jobs from lines of JSON',
  description:
    'Each line is the body of `POST /jobs`. Lines are sent in batches of up to 1000, each of which is created as a ' +
    'whole or not at all. With --key, the same file can be imported again after an interruption: batches that were ' +
    'created are not created twice, as long as file and key are the same.',
  arguments: [{ name: 'FILE', help: 'a file of lines (NDJSON), or - for standard input' }],
  options: {
    key: { value: 'KEY', help: 'makes the import repeatable' },
    jsonl: { help: "print the API's answer to each batch: the ids of its jobs" },
  },
  examples: [
    example('millrace jobs import jobs.ndjson --key nightly-2031-01-31', 'repeat it as often as you like'),
    example(`jq -c '{task_name: "resize", payload: .}' images.json | millrace jobs import -`, 'converted on the fly'),
  ],
  client: true,
});

export const jobsWatch = spec({
  name: 'jobs watch',
  summary: 'follow a job until it ends',
  description: 'Prints one line per change. The exit code is 3 if the job fails or is cancelled.',
  arguments: [ID],
  options: { jsonl: { help: 'print the job as JSON at every change, one per line' } },
  examples: [example('millrace jobs watch @last', 'the last job created from here')],
  client: true,
});

export const jobsWait = spec({
  name: 'jobs wait',
  summary: 'wait until jobs have ended',
  description: 'The exit code is 3 if one of them failed or was cancelled, 5 if one is unknown, 8 if the time ran out.',
  arguments: [IDS],
  options: { any: { help: 'until one of them has ended' }, ...TIMEOUT, ...JSON_OUTPUT },
  examples: [
    example('millrace jobs wait @last --timeout 30s', 'one job'),
    example("millrace jobs import jobs.ndjson --jsonl | jq -r '.job_ids[]' | millrace jobs wait -", 'a whole import'),
  ],
  client: true,
});

export const jobsCancel = spec({
  name: 'jobs cancel',
  summary: 'cancel a job, or all that match',
  description:
    'One id cancels that job. Several ids or a filter become an operation: it first says how many jobs match, and ' +
    'asks. Without --status, a filter means jobs that have not ended.',
  arguments: [{ ...IDS, optional: true }],
  options: { ...FILTER, ...BULK, ...JSON_OUTPUT },
  examples: [
    example('millrace jobs cancel @last', 'one job'),
    example('millrace jobs cancel --queue emails --status pending --dry-run', 'how many would that be?'),
    example('millrace jobs cancel --task resize --created-before 1d --yes', 'in a script'),
  ],
  client: true,
});

export const jobsRerun = spec({
  name: 'jobs rerun',
  summary: 'run a fresh copy of a job, or of all that match',
  description:
    'One id prints the id of the copy. Several ids or a filter become an operation: it first says how many jobs match, ' +
    'and asks. Without --status, a filter means jobs that have ended.',
  arguments: [{ ...IDS, optional: true }],
  options: {
    ...FILTER,
    key: { value: 'KEY', help: 'an idempotency key, for one id: the same key makes one copy' },
    'keep-checkpoints': { help: 'for one id: do not run completed steps of a durable job again' },
    ...BULK,
    ...JSON_OUTPUT,
  },
  examples: [
    example('millrace jobs rerun @1', 'the first row of the last list'),
    example("millrace jobs rerun --task resize --error 'disk full' --created-after 2h", 'after the cause is fixed'),
  ],
  client: true,
});

export const jobsAttempts = spec({
  name: 'jobs attempts',
  summary: 'show the attempts of a job',
  arguments: [ID],
  options: { stacks: { help: 'include error stacks' }, ...JSON_OUTPUT },
  examples: [example('millrace jobs attempts @1', 'the first row of the last list')],
  client: true,
});

const ENDS = ['completed', 'failed', 'cancelled'] as const;

export const tail = spec({
  name: 'tail',
  summary: 'follow jobs as they end, on all queues',
  description:
    'Prints one line per job: when it ended and how, how long it ran, its id, task and queue, and the error. Begins ' +
    'with the last ones, and goes on until you press Ctrl-C.',
  options: {
    queue: { value: 'QUEUE', help: 'of this queue' },
    task: { value: 'TASK', help: 'of this task' },
    status: { value: 'STATE,…', help: `that ended as ${ENDS.join(', ')}`, choices: ENDS },
    lines: { value: 'N', help: 'how many recent jobs to show first; default 10', short: 'n' },
    count: { value: 'N', help: 'stop after that many lines' },
    jsonl: { help: 'print each job as JSON, one per line, without payload, result and metadata' },
    interval: { value: 'DURATION', help: 'how often to look, at most; default 1s' },
  },
  examples: [
    example('millrace tail', 'everything that ends'),
    example('millrace tail --status failed --queue emails', 'what fails on one queue'),
    example('millrace tail --lines 0 --jsonl | jq -r .task_name', 'the tasks of what ends from now on'),
  ],
  client: true,
});

export const jobsWhy = spec({
  name: 'jobs why',
  summary: 'explain in one sentence why a job is not running',
  arguments: [ID],
  options: JSON_OUTPUT,
  examples: [example('millrace jobs why @last', 'the last job created from here')],
  client: true,
});

export const jobsRunNow = spec({
  name: 'jobs run-now',
  summary: 'make a scheduled or retrying job due now, or all that match',
  description:
    'Several ids or a filter become an operation: it first says how many jobs match, and asks. It ' +
    'skips jobs that are waiting for a signal, for children or for the end of a sleep.',
  arguments: [{ ...IDS, optional: true }],
  options: { ...FILTER, ...BULK, ...JSON_OUTPUT },
  examples: [
    example('millrace jobs run-now @1', 'the first row of the last list'),
    example('millrace jobs run-now --queue emails --status retrying --yes', 'the provider is back'),
  ],
  client: true,
});

export const jobsLogs = spec({
  name: 'jobs logs',
  summary: 'show what the handlers of a job wrote',
  description: 'With --follow, prints lines until the job has ended or you press Ctrl-C.',
  arguments: [ID],
  options: {
    follow: { help: 'wait for more lines', short: 'f' },
    attempt: { value: 'N', help: 'only lines of this attempt' },
    jsonl: { help: 'print each line as JSON' },
  },
  examples: [
    example('millrace jobs logs @last', 'of the last job created from here'),
    example('millrace jobs logs -f @1', 'follow the first row of the last list'),
  ],
  client: true,
});

export const jobsCheckpoints = spec({
  name: 'jobs checkpoints',
  summary: 'show what a durable job has stored, and what it waits for',
  arguments: [ID],
  options: JSON_OUTPUT,
  examples: [
    example('millrace jobs checkpoints @last', 'which steps have run'),
    example("millrace jobs checkpoints @1 --json | jq '.checkpoints[0].value'", 'what the first one returned'),
  ],
  client: true,
});
