import { example, JSON_OUTPUT, spec } from './spec.js';
import { LIST } from './lists.js';

const NAME = {
  name: 'NAME',
  help: 'the name of a schedule, its id, or @1 for the first row of the last list',
} as const;

export const cronList = spec({
  name: 'cron list',
  summary: 'list schedules, ordered by next firing',
  options: LIST,
  examples: [example('millrace cron list', 'what fires next')],
  client: true,
});

export const cronPut = spec({
  name: 'cron put',
  summary: 'create a schedule, or replace the one of that name',
  description: 'A paused schedule stays paused. Prints its id.',
  arguments: [
    { name: 'NAME', help: 'its name' },
    { name: 'EXPRESSION', help: 'a cron expression, in quotes: five fields, or a nickname such as @hourly' },
    { name: 'TASK', help: 'the name of the task' },
    { name: 'PAYLOAD', help: 'a JSON object, or - for standard input; default {}', optional: true },
  ],
  options: {
    timezone: { value: 'ZONE', help: 'the IANA time zone of the expression; default UTC' },
    queue: { value: 'QUEUE', help: "the queue of its jobs; otherwise the server's default queue" },
    config: { value: 'JSON', help: 'how its jobs are run, as in the body of `POST /cron`' },
    overlap: {
      value: 'WORD',
      help: 'skip: do not fire while the last firing has not ended; default allow',
      choices: ['allow', 'skip'],
    },
    ...JSON_OUTPUT,
  },
  examples: [
    example(`millrace cron put nightly '30 3 * * *' echo '{"report":1}' --timezone Europe/Berlin`, 'every night'),
    example(`millrace cron put ping '@hourly' echo --config '{"max_retries":0}'`, 'without retries'),
  ],
  client: true,
});

const change = (name: string, summary: string, does: string) =>
  spec({
    name: `cron ${name}`,
    summary,
    arguments: [NAME],
    options: {},
    examples: [example(`millrace cron ${name} nightly`, does)],
    client: true,
  });

export const cronPause = change('pause', 'stop a schedule from firing until it is resumed', 'no firings until then');
export const cronResume = change('resume', 'let a schedule fire again', 'missed occurrences do not run');

export const cronDelete = spec({
  name: 'cron delete',
  summary: 'delete a schedule',
  arguments: [NAME],
  options: { yes: { help: 'do not ask', short: 'y' } },
  examples: [example('millrace cron delete nightly --yes', 'in a script')],
  client: true,
});

export const cronNext = spec({
  name: 'cron next',
  summary: 'show when a schedule fires next, or when an expression would',
  arguments: [{ ...NAME, optional: true }],
  options: {
    count: { value: 'N', help: 'how many, of a schedule; default 10' },
    expression: { value: 'CRON', help: 'instead of a schedule: five occurrences of this expression' },
    timezone: { value: 'ZONE', help: 'the zone of that expression; default UTC' },
    ...JSON_OUTPUT,
  },
  examples: [
    example('millrace cron next nightly --count 3', 'of a schedule'),
    example(
      `millrace cron next --expression '30 3 * * 1' --timezone Europe/Berlin`,
      'of an expression, before you use it',
    ),
  ],
  client: true,
});

export const cronFirings = spec({
  name: 'cron firings',
  summary: 'list the firings of a schedule, newest first',
  arguments: [NAME],
  options: LIST,
  examples: [example('millrace cron firings nightly --limit 5', 'the last five')],
  client: true,
});

export const cronTrigger = spec({
  name: 'cron trigger',
  summary: 'enqueue the job of a schedule now, in addition to its timetable',
  arguments: [NAME],
  options: { key: { value: 'KEY', help: 'an idempotency key: the same key fires once' }, ...JSON_OUTPUT },
  examples: [example('millrace cron trigger nightly', 'prints the id of the job')],
  client: true,
});
