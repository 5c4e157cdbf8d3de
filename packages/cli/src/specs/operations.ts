import { LIST } from './lists.js';
import { example, JSON_OUTPUT, spec, WATCH } from './spec.js';

const OPERATION = {
  name: 'ID',
  help: 'the id of an operation, @last, or @1 for the first row of the last list',
} as const;

export const operationsList = spec({
  name: 'operations list',
  summary: 'list bulk operations, newest first',
  options: LIST,
  examples: [example('millrace operations list', 'what was cancelled or replayed in bulk')],
  client: true,
});

export const operationsGet = spec({
  name: 'operations get',
  summary: 'show an operation',
  arguments: [OPERATION],
  options: { ...JSON_OUTPUT, ...WATCH },
  examples: [example('millrace operations get @last', 'the last one started from here')],
  client: true,
});

export const operationsStop = spec({
  name: 'operations stop',
  summary: 'stop an operation; changes that it has made stay',
  arguments: [OPERATION],
  options: {},
  examples: [example('millrace operations stop @last', 'the last one started from here')],
  client: true,
});

export const operationsWatch = spec({
  name: 'operations watch',
  summary: 'follow an operation until it ends',
  arguments: [OPERATION],
  options: { jsonl: { help: 'print the operation as JSON at every change, one per line' } },
  examples: [example('millrace operations watch @last', 'the last one started from here')],
  client: true,
});
