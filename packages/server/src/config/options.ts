import { DEFAULT_MAX_BODY_BYTES, DEFAULT_MAX_PAYLOAD_BYTES, NAME_MAX_LENGTH } from '@millrace/contract';
import {
  anyText,
  apiKeys,
  bearerToken,
  boolean,
  cellList,
  characters,
  freeQueueName,
  countOrAuto,
  databaseAddress,
  decimal,
  hostNames,
  httpUrl,
  integer,
  oneOf,
  origins,
  postgresUrl,
  secret,
  someOf,
  traceUrl,
  type DatabaseAddress,
  type ValueReader,
} from './values.js';
import { BUILTIN_TASKS } from '../handlers/builtin.js';

export interface Option<T> {
  readonly flag: string;
  readonly env: string;
  /** What stands after the flag in the help text; a boolean flag stands alone. */
  readonly value: string;
  readonly help: string;
  readonly read: ValueReader<T>;
  readonly fallback: T;
  /** The default in words, where the value itself says too little. */
  readonly fallbackText?: string;
  readonly isBoolean?: true;
  /** Its text never appears in a message. */
  readonly isSecret?: true;
  /** An empty variable is a mistake, where elsewhere it counts as unset. */
  readonly refuseEmpty?: true;
  /** Its flag may be given several times. `read` gets all of them, a line each. */
  readonly isRepeatable?: true;
}

const option = <T>(
  flag: string,
  value: string,
  read: ValueReader<T>,
  fallback: NoInfer<T>,
  help: string,
  more: Partial<Option<T>> = {},
): Option<T> => ({
  flag,
  env: `MILLRACE_${flag.toUpperCase().replaceAll('-', '_')}`,
  value,
  read,
  fallback,
  help,
  ...more,
});

const optional = <T>(read: ValueReader<T>): ValueReader<T | null> => read;

const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
const SECRET = { isSecret: true, refuseEmpty: true } as const;
/** Its file is read at startup, and again on SIGHUP. */
const RELOADED = { refuseEmpty: true, fallbackText: 'none; SIGHUP reads it again' } as const;
const BOOLEAN = { isBoolean: true } as const;
const PORT = integer(0, 65_535);
const MIB = 1024 * 1024;
const BYTES = integer(1, 256 * MIB);
const HUNDRED_YEARS_IN_HOURS = 876_000;

/** Every option of the server, once: parsing, validation, precedence and --help all come from this table. */
export const OPTIONS = {
  mode: option('mode', 'all|api|worker', oneOf('all', 'api', 'worker'), 'all', 'what this process runs'),
  processes: option<number | 'auto'>(
    'processes',
    'N|auto',
    countOrAuto(1, 256),
    1,
    'how many processes to run behind the same ports; auto is one per core',
  ),
  apiPort: option('api-port', 'PORT', PORT, 8000, 'port of the REST API; 0 picks a free one'),
  metricsPort: option('metrics-port', 'PORT', PORT, 9090, 'port of /metrics; 0 picks a free one'),
  host: option(
    'host',
    'ADDRESS',
    optional(characters(NAME_MAX_LENGTH)),
    null,
    'address both ports listen on; 0.0.0.0 is every interface',
    { fallbackText: '0.0.0.0; 127.0.0.1 with --dev' },
  ),
  workers: option('workers', 'N', integer(1, 10_000), 10, 'how many jobs this process runs at a time, at least 1'),
  builtinTasks: option(
    'builtin-tasks',
    'all|none|LIST',
    someOf(BUILTIN_TASKS),
    BUILTIN_TASKS,
    `built-in tasks this process runs: all, none, or some of ${BUILTIN_TASKS.join(', ')}`,
    { fallbackText: 'all' },
  ),
  defaultQueue: option(
    'default-queue',
    'NAME',
    freeQueueName(NAME_MAX_LENGTH),
    'default',
    'queue for jobs that name none and for workflow steps; use the same in every process',
  ),
  retentionHours: option(
    'retention-hours',
    'HOURS',
    optional(
      decimal(
        (hours) => hours > 0 && hours <= HUNDRED_YEARS_IN_HOURS,
        `must be a number above 0, at most ${HUNDRED_YEARS_IN_HOURS}`,
      ),
    ),
    null,
    'remove finished jobs this many hours after they end',
    { fallbackText: 'kept forever' },
  ),
  dev: option(
    'dev',
    '',
    boolean,
    false,
    'development mode: any bearer token is accepted as tenant1; never use it in production',
    BOOLEAN,
  ),
  corsOrigins: option(
    'cors-origins',
    'LIST|none',
    origins,
    null,
    'comma-separated origins whose pages may call from a browser; none allows no other site',
    { fallbackText: 'every origin' },
  ),
  allowedHosts: option(
    'allowed-hosts',
    'LIST',
    optional(hostNames),
    null,
    'comma-separated host names this server answers to, beside IP addresses and localhost; * is any',
    { fallbackText: 'any; only --host with --dev' },
  ),
  apiKeys: option('api-keys', 'LIST', optional(apiKeys), null, 'comma-separated <token>:<tenant> pairs', SECRET),
  readKeys: option(
    'read-keys',
    'LIST',
    optional(apiKeys),
    null,
    'comma-separated <token>:<tenant> pairs that may read and change nothing',
    SECRET,
  ),
  jwtSecret: option(
    'jwt-secret',
    'SECRET',
    optional(secret),
    null,
    'accept HS256 tokens signed with this secret',
    SECRET,
  ),
  workerToken: option('worker-token', 'TOKEN', optional(bearerToken), null, 'bearer token for remote workers', SECRET),
  adminToken: option('admin-token', 'TOKEN', optional(bearerToken), null, 'bearer token for operators', {
    ...SECRET,
    fallbackText: 'none; there are no operator routes',
  }),
  apiKeysFile: option('api-keys-file', 'FILE', optional(anyText), null, 'more of --api-keys, one per line', RELOADED),
  readKeysFile: option(
    'read-keys-file',
    'FILE',
    optional(anyText),
    null,
    'more of --read-keys, one per line',
    RELOADED,
  ),
  jwtSecretFile: option('jwt-secret-file', 'FILE', optional(anyText), null, 'JWT secrets, one per line', RELOADED),
  workerTokenFile: option(
    'worker-token-file',
    'FILE',
    optional(anyText),
    null,
    'worker tokens, one per line, each followed by its queues, or by * for every queue',
    RELOADED,
  ),
  adminTokenFile: option(
    'admin-token-file',
    'FILE',
    optional(anyText),
    null,
    "admin tokens, one per line, each optionally followed by the operator's name",
    RELOADED,
  ),
  databaseUrl: option<DatabaseAddress | null>(
    'database-url',
    'URL',
    databaseAddress,
    null,
    'postgres://..., or embedded:DIR for an embedded PostgreSQL; repeat to spread tenants over several',
    { env: 'DATABASE_URL', isSecret: true, isRepeatable: true, fallbackText: 'embedded with --dev' },
  ),
  cells: option<number | string | null>(
    'cells',
    'FILE|N',
    optional(cellList),
    null,
    'a file that lists the databases to spread tenants over; or how many to create in the embedded PostgreSQL',
    { fallbackText: 'one database' },
  ),
  pooler: option(
    'pooler',
    'none|transaction',
    oneOf('none', 'transaction'),
    'none',
    'transaction: --database-url goes through a pooler in transaction mode, such as PgBouncer',
  ),
  directDatabaseUrl: option(
    'direct-database-url',
    'URL',
    optional(postgresUrl),
    null,
    'the same database, bypassing the pooler, for LISTEN and migrations',
    { isSecret: true, fallbackText: 'none; other processes are noticed by polling' },
  ),
  outbox: option(
    'outbox',
    'URL',
    optional(postgresUrl),
    null,
    'run an outbox relay in this process, reading from this application database',
    { isSecret: true, fallbackText: 'none' },
  ),
  outboxToken: option(
    'outbox-token',
    'TOKEN',
    optional(bearerToken),
    null,
    'bearer token of the tenant that the entries of --outbox belong to',
    { ...SECRET, fallbackText: 'none; any with --dev' },
  ),
  maxDbConnections: option(
    'max-db-connections',
    'N',
    integer(3, 1000),
    10,
    'connections this process may hold to each database, at least 3',
  ),
  autoMigrate: option('auto-migrate', '', boolean, true, 'bring the schema up to date at startup', BOOLEAN),
  maxBodyBytes: option('max-body-bytes', 'BYTES', BYTES, DEFAULT_MAX_BODY_BYTES, 'largest request body accepted'),
  maxPayloadBytes: option(
    'max-payload-bytes',
    'BYTES',
    BYTES,
    DEFAULT_MAX_PAYLOAD_BYTES,
    'largest payload, result, metadata or workflow context accepted',
  ),
  maxInFlight: option(
    'max-in-flight',
    'N',
    integer(1, 1_000_000),
    1024,
    'new requests in flight, counting one more per 16 KiB of body; beyond that, 503',
  ),
  maxConnections: option(
    'max-connections',
    'N',
    integer(1, 1_000_000),
    10_000,
    'connections to the API at a time; further ones are closed',
  ),
  dataDir: option('data-dir', 'DIR', anyText, '.millrace', 'where the embedded PostgreSQL keeps its data'),
  logLevel: option('log-level', 'LEVEL', oneOf(...LOG_LEVELS), 'info', LOG_LEVELS.join(', ')),
  logFormat: option('log-format', 'json|pretty', optional(oneOf('json', 'pretty')), null, 'format of log lines', {
    fallbackText: 'pretty on a terminal, else json',
  }),
  otlpEndpoint: option(
    'otlp-endpoint',
    'URL',
    optional(httpUrl),
    null,
    'send spans of traced requests and jobs to this OpenTelemetry collector (OTLP over HTTP)',
    { fallbackText: 'none; nothing is traced' },
  ),
  traceUrl: option(
    'trace-url',
    'URL',
    optional(traceUrl),
    null,
    'where traces are shown, with {trace_id} as the placeholder; the dashboard links to it',
    { fallbackText: 'none; there are no links' },
  ),
  shutdownSecs: option(
    'shutdown-secs',
    'SECS',
    decimal((secs) => secs <= 86_400, 'must be a number of seconds from 0 to 86400'),
    30,
    'how long shutdown waits for work in flight',
  ),
};

export type Options = typeof OPTIONS;
export type OptionValues = { readonly [K in keyof Options]: Options[K] extends Option<infer T> ? T : never };
