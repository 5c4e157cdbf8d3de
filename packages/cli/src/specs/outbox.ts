import { example, spec } from './spec.js';

/** The outbox in the database of an application, and what takes its entries to the service. */
const TO = {
  to: {
    value: 'URL',
    help: "the application's database; better in MILLRACE_OUTBOX_URL, where `ps` does not show its password",
  },
} as const;
const ROLES = {
  'app-role': { value: 'ROLE', help: 'a role that may enqueue, and nothing else; may be repeated', many: true },
  'relay-role': { value: 'ROLE', help: 'a role that may run a relay; may be repeated', many: true },
} as const;

export const outboxInstall = spec({
  name: 'outbox install',
  summary: "create the outbox in an application's database, or upgrade it",
  description:
    'Creates the schema millrace_outbox, with its tables and functions, in PostgreSQL 13 or newer. Needs the right ' +
    'to create a schema; no superuser, no replication slot, no trigger on your tables. Can be repeated.',
  options: { ...TO, ...ROLES },
  examples: [
    example(
      'millrace outbox install --to postgres://… --app-role shop --relay-role relay',
      'and grant the roles what they need',
    ),
  ],
});

export const outboxSql = spec({
  name: 'outbox sql',
  summary: 'print the SQL that install runs, for your own migrations',
  description: 'The script can be applied again; whatever exists stays as it is.',
  options: ROLES,
  examples: [example('millrace outbox sql --app-role shop >migrations/0042_outbox.sql', 'to apply with your others')],
});

export const outboxStatus = spec({
  name: 'outbox status',
  summary: 'show how many entries wait and since when, what was refused, and which relays run',
  options: { ...TO, json: { help: 'print it as JSON' } },
  examples: [example('millrace outbox status --to postgres://…', 'as a relay sees it')],
});

export const outboxRetry = spec({
  name: 'outbox retry',
  summary: 'put refused entries back, to be sent again',
  arguments: [{ name: 'ID', help: 'the id of an entry, as status shows it', optional: true, many: true }],
  options: { ...TO, all: { help: 'all of them' } },
  examples: [example('millrace outbox retry --all --to postgres://…', 'after the cause is fixed')],
});

export const outboxPrune = spec({
  name: 'outbox prune',
  summary: 'remove old refused entries and old marks of handled effects',
  options: {
    ...TO,
    refused: { value: 'DAYS', help: 'entries that were refused more than this many days ago' },
    handled: { value: 'DAYS', help: 'marks of more than this many days ago; relays remove them after 400' },
  },
  examples: [example('millrace outbox prune --refused 30 --to postgres://…', 'refused more than a month ago')],
});

export const outboxUninstall = spec({
  name: 'outbox uninstall',
  summary: "remove the outbox from an application's database",
  description: 'Refuses while entries wait, or were refused: they would be lost.',
  options: { ...TO, force: { help: 'remove it together with its entries' } },
  examples: [example('millrace outbox uninstall --to postgres://…', 'once nothing is waiting')],
});

export const relay = spec({
  name: 'relay',
  summary: 'send what applications put into their outbox to the service, until told to stop',
  description:
    'Any number of relays may run on one outbox. Entries become jobs of the tenant that the token belongs to. It ' +
    'stops with exit code 1, and everything kept, if the service refuses the token or the outbox is not there; it ' +
    'waits if either is out of reach.',
  options: {
    from: {
      value: 'URL',
      help: "the application's database; better in MILLRACE_OUTBOX_URL, where `ps` does not show its password",
    },
    url: { value: 'URL', help: 'where the service is; MILLRACE_URL' },
    token: { value: 'TOKEN', help: "the tenant's token; better in MILLRACE_TOKEN, where `ps` does not show it" },
    'token-file': { value: 'FILE', help: 'a file that holds the token; MILLRACE_TOKEN_FILE' },
    host: { value: 'ADDRESS', help: 'address the metrics port listens on; MILLRACE_HOST, default 0.0.0.0' },
    'metrics-port': {
      value: 'PORT',
      help: 'port of /metrics, /health and /ready; 0 picks a free one; MILLRACE_METRICS_PORT, default 9092',
    },
    'log-level': {
      value: 'LEVEL',
      help: 'trace, debug, info, warn, error, fatal or silent; MILLRACE_LOG_LEVEL, default info',
    },
    'log-format': {
      value: 'FORMAT',
      help: 'json or pretty; MILLRACE_LOG_FORMAT, default pretty on a terminal, else json',
      choices: ['json', 'pretty'],
    },
  },
  examples: [
    example(
      'MILLRACE_OUTBOX_URL=postgres://… MILLRACE_TOKEN=… millrace relay --url https://millrace.example.com',
      'in production',
    ),
    example('millrace relay --from postgres://… --url http://localhost:8000 --token dev', 'beside a server with --dev'),
  ],
});
