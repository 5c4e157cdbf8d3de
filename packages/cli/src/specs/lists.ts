import { JSON_OUTPUT, WATCH } from './spec.js';

/** What all lists have in common. */
export const LIST = {
  limit: { value: 'N', help: 'how many at most; default 20' },
  cursor: { value: 'CURSOR', help: 'continue where another page ended' },
  all: { help: 'all of them, however many there are' },
  ...JSON_OUTPUT,
  jsonl: { help: 'print one JSON document per line, as they come' },
  ...WATCH,
} as const;

export const CREATED = {
  'created-after': { value: 'INSTANT', help: 'created since then: 2031-01-31T09:00:00Z, or 2h for two hours ago' },
  'created-before': { value: 'INSTANT', help: 'created before then' },
} as const;

export const ORDER = { 'oldest-first': { help: 'oldest first; the default is newest first' } } as const;
