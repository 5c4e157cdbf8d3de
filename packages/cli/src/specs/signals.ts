import { LIST } from './lists.js';
import { example, JSON_OUTPUT, spec } from './spec.js';

/** What durable jobs wait for. */
export const signal = spec({
  name: 'signal',
  summary: 'send a signal to a job that waits for it, now or later',
  description:
    'With --job it goes to that job, with --workflow to the steps of that workflow, with --key to the oldest job ' +
    'that waits for this name and key. If none waits yet, the signal is kept for the next one that does.',
  arguments: [
    { name: 'NAME', help: 'the name of the signal' },
    { name: 'VALUE', help: 'any JSON, or - for standard input; default null', optional: true },
  ],
  options: {
    job: { value: 'ID', help: 'to this job: its id, @last, or @1 for the first row of the last list' },
    workflow: { value: 'ID', help: 'to the step of this workflow that waits for it: its id, or @1 and so on' },
    key: { value: 'KEY', help: 'to whichever job waits for the name with this key' },
    ttl: { value: 'DURATION', help: 'with --key: how long it is kept if nobody waits for it; default 7d' },
    'idempotency-key': { value: 'KEY', help: 'the same key sends one signal' },
    ...JSON_OUTPUT,
  },
  examples: [
    example(`millrace signal approval '{"approved":true}' --job @1`, 'answers the first row of `millrace waits`'),
    example(`millrace signal paid '{"cents":1200}' --key order-7`, 'to whichever job waits for that order'),
    example('millrace signal restocked --key sku-4711 --ttl 1d', 'without a value; gone after a day'),
  ],
  client: true,
});

export const waits = spec({
  name: 'waits',
  summary: 'list jobs that wait for signals, newest first',
  options: {
    name: { value: 'NAME', help: 'only for signals of this name' },
    key: { value: 'KEY', help: 'only for signals with this key' },
    ask: { help: 'only those that ask a person something' },
    ...LIST,
  },
  examples: [
    example('millrace waits --ask', 'what people are asked'),
    example('millrace waits --name paid --watch', 'who waits for that signal'),
  ],
  client: true,
});
