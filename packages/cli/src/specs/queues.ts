import { example, JSON_OUTPUT, spec, WATCH } from './spec.js';
import { LIST } from './lists.js';

const WHOLE = { ...JSON_OUTPUT, jsonl: LIST.jsonl, ...WATCH } as const;

export const queues = spec({
  name: 'queues',
  summary: 'show the queues that hold unfinished jobs',
  options: WHOLE,
  examples: [example('millrace queues --watch', 'follow them')],
  client: true,
});

export const queuesGet = spec({
  name: 'queues get',
  summary: 'show one queue: its tasks, and what is claimed next',
  arguments: [{ name: 'QUEUE', help: 'the name of a queue' }],
  options: { ...JSON_OUTPUT, ...WATCH },
  examples: [example('millrace queues get emails', 'who is next')],
  client: true,
});

const change = (name: 'pause' | 'resume', summary: string, does: string) =>
  spec({
    name: `queues ${name}`,
    summary,
    description:
      "For operators: needs the server's admin token, from --token, the profile's admin-token or " +
      'MILLRACE_ADMIN_TOKEN. It affects the jobs of all tenants.',
    arguments: [{ name: 'QUEUE', help: 'the name of a queue' }],
    options: {},
    examples: [example(`millrace queues ${name} emails`, does)],
    client: true,
  });

export const queuesPause = change('pause', 'pause a queue for all tenants', 'running jobs continue; no others start');
export const queuesResume = change('resume', 'resume a paused queue', 'waiting workers get them at once');

export const limitsList = spec({
  name: 'limits list',
  summary: 'show the keys that unfinished jobs name as limits',
  options: { queue: { value: 'QUEUE', help: 'only keys of this queue' }, ...LIST },
  examples: [example('millrace limits list --queue exports --watch', 'who has to wait for room')],
  client: true,
});

export const workers = spec({
  name: 'workers',
  summary: 'show the workers that held your jobs in the last hour',
  options: WHOLE,
  examples: [example('millrace workers', 'who is working')],
  client: true,
});
