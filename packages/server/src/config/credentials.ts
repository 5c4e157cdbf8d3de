import { UsageError } from './read-options.js';
import { SHORTEST_SCRUBBED } from '../telemetry/redaction.js';

/** Everything that a caller can prove to be somebody with. */
export interface CredentialSet {
  /** Token to tenant. */
  readonly apiKeys: ReadonlyMap<string, string>;
  /** The same for credentials that may only read. */
  readonly readKeys: ReadonlyMap<string, string>;
  readonly jwtSecrets: readonly string[];
  /** Token to the queues that it is limited to; null: all of them. */
  readonly workerTokens: ReadonlyMap<string, ReadonlySet<string> | null>;
  /** Token to the name of the operator; null: it has none. */
  readonly adminTokens: ReadonlyMap<string, string | null>;
}

/** The credentials that flags and variables hold. */
export interface FlagCredentials {
  readonly apiKeys: ReadonlyMap<string, string>;
  readonly readKeys: ReadonlyMap<string, string>;
  readonly jwtSecret: string | null;
  readonly workerToken: string | null;
  readonly adminToken: string | null;
}

export function credentialsOf(flags: FlagCredentials): CredentialSet {
  const { apiKeys, readKeys, jwtSecret, workerToken, adminToken } = flags;
  return {
    apiKeys,
    readKeys,
    jwtSecrets: jwtSecret === null ? [] : [jwtSecret],
    workerTokens: new Map(workerToken === null ? [] : [[workerToken, null]]),
    adminTokens: new Map(adminToken === null ? [] : [[adminToken, null]]),
  };
}

/** One token is one kind of caller: whoever holds it must not get what was meant for another. */
export function checkDistinct({ apiKeys, readKeys, workerTokens, adminTokens }: CredentialSet): void {
  const isWorker = (token: string): boolean => workerTokens.has(token);
  if ([...apiKeys.keys()].some(isWorker)) {
    throw new UsageError('--worker-token is also a token of --api-keys; tenants and workers must not share one');
  }
  if ([...readKeys.keys()].some(isWorker)) {
    throw new UsageError('--worker-token is also a token of --read-keys; tenants and workers must not share one');
  }
  if ([...readKeys.keys()].some((token) => apiKeys.has(token))) {
    throw new UsageError('a token is in both --read-keys and --api-keys, so it is unclear whether it may write');
  }
  if ([...adminTokens.keys()].some(isWorker)) {
    throw new UsageError('--admin-token is also the --worker-token; operators and workers must not share one');
  }
  const shared = [...adminTokens.keys()].find((token) => apiKeys.has(token) || readKeys.has(token));
  if (shared !== undefined) {
    const keys = apiKeys.has(shared) ? '--api-keys' : '--read-keys';
    throw new UsageError(`--admin-token is also a token of ${keys}; operators and tenants must not share one`);
  }
}

export const secretsOf = ({ apiKeys, readKeys, jwtSecrets, workerTokens, adminTokens }: CredentialSet): string[] => [
  ...apiKeys.keys(),
  ...readKeys.keys(),
  ...jwtSecrets,
  ...workerTokens.keys(),
  ...adminTokens.keys(),
];

/** Tokens that are shorter are worth a warning. */
const SHORT_TOKEN = 16;
/** What HS256 needs to be hard to guess. */
const SHORT_SECRET_BYTES = 32;

/** What an operator should know about the credentials: sentences for the log, without the credentials themselves. */
export function warningsAbout(set: CredentialSet): readonly string[] {
  const numbered = (tokens: Iterable<string>, of: string): [string, string][] =>
    [...tokens].map((token, index) => [`token ${index + 1} of ${of}`, token]);
  const named = (tokens: readonly string[], flag: string): [string, string][] =>
    tokens.length === 1 ? [[flag, tokens[0] ?? '']] : numbered(tokens, flag);
  const tokens = [
    ...numbered(set.apiKeys.keys(), '--api-keys'),
    ...numbered(set.readKeys.keys(), '--read-keys'),
    ...named([...set.workerTokens.keys()], '--worker-token'),
    ...named([...set.adminTokens.keys()], '--admin-token'),
  ];
  const short = tokens
    .filter(([, token]) => token.length < SHORT_TOKEN)
    .map(([name, token]) => shortToken(name, token));
  if (set.jwtSecrets.every((secret) => Buffer.byteLength(secret) >= SHORT_SECRET_BYTES)) return short;
  return [...short, `--jwt-secret is shorter than ${SHORT_SECRET_BYTES} bytes, which HS256 needs to be hard to guess`];
}

const shortToken = (name: string, token: string): string =>
  `${name} is shorter than ${SHORT_TOKEN} characters and can be guessed` +
  (token.length < SHORTEST_SCRUBBED ? '; it is also too short to be scrubbed from log lines' : '');
