import { example, spec } from './spec.js';

/** The databases that a service is spread over. These commands work on them directly, and need no server. */
const CELLS = { cells: { value: 'FILE', help: 'the list of the databases; MILLRACE_CELLS' } } as const;
const HANDOVER = {
  ...CELLS,
  to: {
    value: 'URL',
    help: 'the standby that takes over; better in MILLRACE_TARGET_URL, where `ps` does not show its password',
  },
  list: { value: 'FILE', help: 'write the new list to this file, before anything else is done' },
  promote: { help: 'promote the standby instead of waiting for you to do it' },
  abort: { help: 'serve everything from the old database again; possible until the ranges are set' },
} as const;
const NAME = { name: 'NAME', help: 'the name of the cell, as the list has it' } as const;

const SAFE =
  'No tenant is ever served by two databases at once, whatever list a process has. If interrupted, run it again: it ' +
  'picks up where it left off.';

export const cellsStatus = spec({
  name: 'cells status',
  summary: 'show each database of a list: its tenants, whether it answers, its schema',
  description: 'Exits with 1 if a database does not answer, or does not hold what it is listed with.',
  options: { ...CELLS, json: { help: 'print it as JSON' } },
  examples: [example('millrace cells status --cells cells.json', 'before and after a change')],
});

export const cellsPrepare = spec({
  name: 'cells prepare',
  summary: 'make an empty database a cell of a list',
  description:
    'Creates the schema and writes down which tenants the database holds. A service that nobody has used does so by ' +
    'itself; later on, an empty database in a list is refused, because it is more likely the wrong one. Whatever its ' +
    'tenants had elsewhere is not there. Refused if the database holds anything.',
  arguments: [NAME],
  options: CELLS,
  examples: [example('millrace cells prepare b --cells cells.json', 'its database is lost, and there is no backup')],
});

export const cellsSplit = spec({
  name: 'cells split',
  summary: 'give a part of the tenants of a database to a standby of it, which becomes a cell of its own',
  description:
    'First create a physical standby of the database, with the tools of PostgreSQL. The command closes the cell, ' +
    'waits until the standby has received everything and is promoted, gives each of them its part, opens both, and ' +
    `removes from each what belongs to the other. ${SAFE}`,
  arguments: [NAME],
  options: {
    ...HANDOVER,
    name: { value: 'NAME', help: 'the name of the new cell' },
    at: { value: 'BUCKET', help: 'the first bucket of the new cell; default: the middle' },
  },
  examples: [
    example(
      'millrace cells split a --cells cells.json --name b --to postgres://… --promote --list new.json',
      'then give new.json to every process, as its list, and send SIGHUP',
    ),
    example('millrace cells split a --cells cells.json --abort', 'while the standby is not promoted, or fails'),
  ],
});

export const cellsMove = spec({
  name: 'cells move',
  summary: 'give all tenants of a database to a standby of it, at another address',
  description:
    'The same for all tenants: the old database is closed for good. Where the address stays the same, as after a ' +
    `failover, there is nothing to do. ${SAFE}`,
  arguments: [NAME],
  options: HANDOVER,
  examples: [
    example(
      'millrace cells move a --cells cells.json --to postgres://… --promote --list new.json',
      'then give new.json to every process, as its list, and send SIGHUP',
    ),
  ],
});
