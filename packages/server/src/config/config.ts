import { resolve } from 'node:path';
import { readCellList } from './cell-list.js';
import { OPTIONS, type Option, type OptionValues } from './options.js';
import { readOptions, UsageError } from './read-options.js';
import type { DatabaseAddress } from './values.js';
import { checkDistinct, credentialsOf, secretsOf, warningsAbout, type CredentialSet } from './credentials.js';
import { passwordOf } from '../telemetry/redaction.js';

export { UsageError } from './read-options.js';
export type { DatabaseAddress } from './values.js';

/** What the options say, once their defaults are filled in and what they say of the database is put together. */
export type Config = Omit<OptionValues, keyof Derived | 'databaseUrl' | 'cells'> & Derived;

interface Derived {
  /** Token to tenant. */
  readonly apiKeys: ReadonlyMap<string, string>;
  /** The same for credentials that may only read. */
  readonly readKeys: ReadonlyMap<string, string>;
  readonly database: DatabaseAddress;
  readonly logFormat: 'json' | 'pretty';
  readonly host: string;
  /** Host names to answer to beside IP addresses, localhost and `host`; null: any. */
  readonly allowedHosts: readonly string[] | null;
}

export type LogConfig = Pick<Config, 'logLevel' | 'logFormat'>;
export type DatabaseConfig = LogConfig & Pick<Config, 'database' | 'pooler' | 'directDatabaseUrl'>;

export interface Terminal {
  readonly isTTY: boolean;
}

/** The configuration of a serving process, or a UsageError. Reads nothing but its arguments, opens nothing. */
export function parseConfig(argv: readonly string[], env: NodeJS.ProcessEnv, io: Terminal): Config {
  const values = readOptions(argv, env);
  const { databaseUrl: _, cells: __, ...plain } = values;
  const config: Config = {
    ...plain,
    ...credentials(values),
    ...databaseConfig(values, io),
    dataDir: resolve(values.dataDir),
    // What accepts any token should not be reached from elsewhere, unless that is asked for.
    host: values.host ?? (values.dev ? '127.0.0.1' : '0.0.0.0'),
    allowedHosts: allowedHosts(values),
  };
  checkPorts(config);
  checkCredentials(config);
  checkOutbox(config);
  return config;
}

/** What a command needs that works on the database and serves nobody: the credentials of clients do not matter. */
export function parseDatabaseConfig(argv: readonly string[], env: NodeJS.ProcessEnv, io: Terminal): DatabaseConfig {
  return databaseConfig(readOptions(argv, env), io);
}

function databaseConfig(values: OptionValues, io: Terminal): DatabaseConfig {
  return {
    ...address(values),
    logLevel: values.logLevel,
    logFormat: values.logFormat ?? (io.isTTY ? 'pretty' : 'json'),
  };
}

function address(values: OptionValues): Pick<Config, 'database' | 'pooler' | 'directDatabaseUrl'> {
  const { pooler, directDatabaseUrl } = values;
  const address = { database: database(values), pooler, directDatabaseUrl };
  if (pooler === 'none') {
    if (directDatabaseUrl !== null) throw new UsageError('--direct-database-url requires --pooler transaction');
    return address;
  }
  if (address.database.kind === 'url') return address;
  if (address.database.kind === 'embedded')
    throw new UsageError('--pooler is for a database with a URL; the embedded one is always reached directly');
  throw new UsageError('--pooler is for one database; with several, mark those behind a pooler in --cells');
}

function database(values: OptionValues): DatabaseAddress {
  const { cells, databaseUrl } = values;
  if (typeof cells !== 'string') {
    const one = oneDatabase(values);
    if (cells === null || cells === 1) return one;
    if (one.kind === 'embedded') return { ...one, cells };
    throw new UsageError('--cells needs a file that lists the databases; a number is for the embedded PostgreSQL');
  }
  if (databaseUrl !== null) throw new UsageError('--cells lists every database: leave out --database-url');
  return { kind: 'cells', file: resolve(cells) };
}

function oneDatabase({ databaseUrl, dev, dataDir }: OptionValues): DatabaseAddress {
  if (databaseUrl?.kind === 'embedded') return { kind: 'embedded', dir: resolve(databaseUrl.dir) };
  if (databaseUrl !== null) return databaseUrl;
  if (dev) return { kind: 'embedded', dir: resolve(dataDir) };
  throw new UsageError(
    'no database: set DATABASE_URL to postgres://..., or to embedded:DIR for an embedded one, or try --dev',
  );
}

/** Development mode needs no token: a site whose name leads to this machine would be as good as a local program. */
function allowedHosts({ allowedHosts: names, dev }: OptionValues): readonly string[] | null {
  if (names === '*') return null;
  return names ?? (dev ? [] : null);
}

function credentials({
  dev,
  apiKeys,
  readKeys,
  jwtSecret,
  workerToken,
  adminToken,
}: OptionValues): Pick<Config, 'apiKeys' | 'readKeys' | 'jwtSecret' | 'workerToken' | 'adminToken'> {
  // Development mode lets everybody in as one tenant; keys that seem to protect it would only deceive.
  if (dev) return { apiKeys: new Map(), readKeys: new Map(), jwtSecret: null, workerToken: null, adminToken: null };
  return { apiKeys: apiKeys ?? new Map(), readKeys: readKeys ?? new Map(), jwtSecret, workerToken, adminToken };
}

function checkPorts({ mode, apiPort, metricsPort }: Config): void {
  if (mode !== 'worker' && apiPort === metricsPort && apiPort !== 0) {
    throw new UsageError(`--api-port and --metrics-port must differ, both are ${apiPort}`);
  }
}

/** Fails closed: a process that serves the API never starts without a way to tell its callers apart. */
function checkCredentials(config: Config): void {
  const { mode, dev, apiKeys, apiKeysFile, jwtSecret, jwtSecretFile, workerToken, workerTokenFile } = config;
  checkDistinct(credentialsOf(config));
  if (dev || mode === 'worker') return;
  if (apiKeys.size === 0 && (apiKeysFile ?? jwtSecret ?? jwtSecretFile) === null) {
    throw new UsageError(`mode ${mode} needs --api-keys or --jwt-secret (or --dev on a developer's machine)`);
  }
  if ((workerToken ?? workerTokenFile) === null) {
    throw new UsageError(`mode ${mode} needs --worker-token (or --dev on a developer's machine)`);
  }
}

function checkOutbox({ outbox, outboxToken, mode, dev }: Config): void {
  if (outbox === null) return;
  if (mode === 'worker') throw new UsageError('--outbox needs the API, which mode worker does not have');
  if (outboxToken === null && !dev) throw new UsageError('--outbox needs --outbox-token, the token of a tenant');
}

/** Everything in a configuration that must never be shown or logged. What its files hold is in LiveCredentials. */
export function configSecrets(config: Config): readonly string[] {
  const { database: address, directDatabaseUrl, outbox, outboxToken } = config;
  const urls = [...urlsOf(address), directDatabaseUrl, outbox];
  const passwords = urls.map((url) => (url === null ? null : passwordOf(url)));
  return [...secretsOf(credentialsOf(config)), ...[...passwords, outboxToken].filter((secret) => secret !== null)];
}

function urlsOf(address: DatabaseAddress): readonly (string | null)[] {
  if (address.kind === 'url') return [address.url];
  if (address.kind === 'urls') return address.urls;
  return address.kind === 'cells' ? readCellList(address.file).flatMap(({ url, directUrl }) => [url, directUrl]) : [];
}

/** Sentences for the log about credentials that are too short; by default about those of the flags. */
export const credentialWarnings = (config: Config, set: CredentialSet = credentialsOf(config)): readonly string[] =>
  warningsAbout(set);

/** The flags for --help, one paragraph each, straight from the table. */
export function describeOptions(): string {
  return Object.values<Option<unknown>>(OPTIONS).map(describeOption).join('\n');
}

function describeOption(each: Option<unknown>): string {
  const left = `--${each.flag}${each.value && ` ${each.value}`}`;
  const fallback =
    each.fallbackText ?? (each.fallback === null ? 'none' : JSON.stringify(each.fallback).replaceAll('"', ''));
  return `  ${left.padEnd(28)} ${each.help}\n${' '.repeat(31)}${each.env}, default: ${fallback}`;
}
