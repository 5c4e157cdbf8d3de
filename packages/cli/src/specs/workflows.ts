import { example, JSON_OUTPUT, spec, WATCH } from './spec.js';
import { BULK, TIMEOUT } from './jobs.js';
import { CREATED, LIST, ORDER } from './lists.js';

const STATES = ['created', 'running', 'completed', 'failed', 'partially_failed', 'cancelled'] as const;
const RESUMABLE = ['failed', 'partially_failed', 'cancelled'] as const;
const ID = { name: 'ID', help: 'the id of a workflow, @last, or @1 for the first row of the last list' } as const;

export const workflowsList = spec({
  name: 'workflows list',
  summary: 'list workflows, newest first',
  options: {
    status: { value: 'STATE', help: `in this state: ${STATES.join(', ')}`, choices: STATES },
    name: { value: 'NAME', help: 'of this name' },
    ...CREATED,
    ...ORDER,
    ...LIST,
  },
  examples: [example('millrace workflows list --status running --watch', 'what is running')],
  client: true,
});

export const workflowsGet = spec({
  name: 'workflows get',
  summary: 'show a workflow and its steps',
  description: '--json prints the record alone; --steps --json prints its steps, as the API returns them.',
  arguments: [ID],
  options: { steps: { help: 'only the steps' }, ...JSON_OUTPUT, ...WATCH },
  examples: [example('millrace workflows get @last --watch', 'follow it until interrupted')],
  client: true,
});

export const workflowsWatch = spec({
  name: 'workflows watch',
  summary: 'follow a workflow until it ends',
  description:
    'Prints one line per change of a step or of the workflow. The exit code is 3 if it fails, in part or as a whole, ' +
    'or is cancelled.',
  arguments: [ID],
  options: { jsonl: { help: 'print workflow and steps as JSON at every change, one per line' } },
  examples: [example('millrace workflows watch @last', 'the last workflow started from here')],
  client: true,
});

export const workflowsStart = spec({
  name: 'workflows start',
  summary: 'start a workflow from its JSON',
  description: 'Takes the body of `POST /workflows` and prints the id; with --wait, the context that it ends with.',
  arguments: [{ name: 'BODY', help: 'a JSON object, or - for standard input' }],
  options: {
    key: { value: 'KEY', help: 'an idempotency key: the same key starts one workflow' },
    wait: { help: 'wait until it has ended, and print its context' },
    ...TIMEOUT,
    ...JSON_OUTPUT,
  },
  examples: [
    example('millrace workflows start - <order.json', 'from a file'),
    example(
      `millrace workflows start '{"name":"one","steps":[{"name":"a","task_name":"echo"}]}' --wait`,
      'a workflow of one step',
    ),
  ],
  client: true,
});

export const workflowsCancel = spec({
  name: 'workflows cancel',
  summary: 'cancel a workflow and every step that has not ended',
  arguments: [ID],
  options: {},
  examples: [example('millrace workflows cancel @last', 'the last workflow started from here')],
  client: true,
});

export const workflowsResume = spec({
  name: 'workflows resume',
  summary: 'resume an ended workflow, or all that match',
  description:
    'One id resumes that workflow: from the steps named by --from, or else from every step that failed or was ' +
    'cancelled; everything behind them runs again. Several ids or a filter become an operation: it first says how ' +
    'many workflows match, and asks. Without --status, a filter means those that failed, as a whole or in part.',
  arguments: [{ ...ID, name: 'ID…', help: 'ids of workflows, @last, @1 and so on', optional: true, many: true }],
  options: {
    from: { value: 'STEP', help: 'begin with this step; may be given several times', many: true },
    context: { value: 'JSON', help: 'an object whose keys override those of the context' },
    key: { value: 'KEY', help: 'an idempotency key: the same key resumes once' },
    status: { value: 'STATE', help: `all in this state: ${RESUMABLE.join(', ')}`, choices: RESUMABLE },
    name: { value: 'NAME', help: 'all of this name' },
    ...CREATED,
    ...BULK,
    ...JSON_OUTPUT,
  },
  examples: [
    example('millrace workflows resume @last', 'from where it failed'),
    example('millrace workflows resume @last --from charge --dry-run', 'what would run again from there?'),
    example('millrace workflows resume --name order --created-after 1d', 'all that failed since yesterday'),
  ],
  client: true,
});

export const workflowsDiagram = spec({
  name: 'workflows diagram',
  summary: 'print a workflow as a Mermaid diagram',
  arguments: [ID],
  options: JSON_OUTPUT,
  examples: [example('millrace workflows diagram @last >order.mmd', 'for an editor that shows Mermaid')],
  client: true,
});
