import { example, JSON_OUTPUT, spec, WATCH, type Options } from './spec.js';
import { LIST } from './lists.js';

const WHOLE = { ...JSON_OUTPUT, jsonl: LIST.jsonl, ...WATCH } as const;

export const queues = spec({
  name: 'queues',
  summary: 'show the queues that hold unfinished jobs',
  options: { idle: { help: 'also those of the last 60 days that hold none' }, ...WHOLE },
  examples: [
    example('millrace queues --watch', 'follow them'),
    example('millrace queues --idle', 'idle ones among them'),
  ],
  client: true,
});

export const queuesGet = spec({
  name: 'queues get',
  summary: 'show one queue: its tasks, and what is claimed next',
  arguments: [{ name: 'QUEUE', help: 'the name of a queue' }],
  options: { ...JSON_OUTPUT, ...WATCH },
  examples: [example('millrace queues get emails', 'what is next')],
  client: true,
});

const FOR_OPERATORS =
  "For operators: needs the server's admin token, from --token, the profile's admin-token or MILLRACE_ADMIN_TOKEN.";

const change = <const O extends Options>(name: 'pause' | 'resume', summary: string, does: string, options: O) =>
  spec({
    name: `queues ${name}`,
    summary,
    description: `${FOR_OPERATORS} It affects the jobs of all tenants.`,
    arguments: [{ name: 'QUEUE', help: 'the name of a queue' }],
    options,
    examples: [example(`millrace queues ${name} emails`, does)],
    client: true,
  });

export const queuesPause = change('pause', 'pause a queue for all tenants', 'running jobs continue; no others start', {
  reason: { value: 'TEXT', help: 'why, shown with the queue until it is resumed' },
});
export const queuesResume = change('resume', 'resume a paused queue', 'waiting workers get them at once', {});

export const queuesSet = spec({
  name: 'queues set',
  summary: 'limit a queue for all tenants, or let tenants take turns',
  description: `${FOR_OPERATORS} Settings that you leave out stay as they are; none removes one. Prints the result.`,
  arguments: [{ name: 'QUEUE', help: 'the name of a queue' }],
  options: {
    running: { value: 'N', help: 'how many of its jobs may run at a time, or none' },
    rate: { value: 'COUNT/SECS', help: 'how many may start in a given number of seconds, such as 100/60, or none' },
    burst: { value: 'N', help: 'with --rate: how many may start at once after a pause' },
    share: { value: 'WORD', help: 'tenant: tenants take turns; or none', choices: ['tenant', 'none'] },
    ...JSON_OUTPUT,
  },
  examples: [
    example('millrace queues set emails --rate 100/60', 'a hundred a minute'),
    example('millrace queues set exports --running 4 --share tenant', 'four at a time, tenant by tenant'),
    example('millrace queues set emails --rate none', 'no rate any more'),
  ],
  client: true,
});

export const limitsList = spec({
  name: 'limits list',
  summary: 'show the keys that unfinished jobs name as limits',
  options: { queue: { value: 'QUEUE', help: 'only keys of this queue' }, ...LIST },
  examples: [example('millrace limits list --queue exports --watch', 'who has to wait for room')],
  client: true,
});

export const audit = spec({
  name: 'audit',
  summary: 'show what operators did, newest first',
  description: `${FOR_OPERATORS} Pauses, resumes and settings of queues, and who read as which tenant.`,
  options: LIST,
  examples: [example('millrace audit', 'the last twenty entries')],
  client: true,
});

export const workers = spec({
  name: 'workers',
  summary: 'show the workers that held your jobs in the last hour',
  options: WHOLE,
  examples: [example('millrace workers', 'who is working')],
  client: true,
});
