import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import { NAME_MAX_LENGTH } from '@millrace/contract';
import { characterCount, isStorableText } from '../domain/text.js';
import { checkDistinct, credentialsOf, secretsOf, type CredentialSet } from './credentials.js';
import { UsageError } from './read-options.js';
import { apiKeys, bearerToken, characters, InvalidValue } from './values.js';
import type { Config } from './config.js';

/**
 * Credentials from files, beside those of the flags. One entry per line; empty lines do not count. No message ever
 * repeats what a file holds. A file that is still being written must not give anybody more rights than the whole one:
 * the last line has a line end, and a worker token for every queue says so.
 */
const MAX_FILE_BYTES = 1024 * 1024;
/** Each wrong JWT is checked against all of them. */
const MAX_JWT_SECRETS = 10;

/**
 * The credentials that are valid now. `reload` replaces all of them or none: a file that cannot be read, or that makes
 * no sense with the others, leaves everything as it was. A process that has a parent never reads the files: it starts
 * with the set that its parent hands it, and gets the next one by `replace`.
 */
export class LiveCredentials {
  #current: CredentialSet;
  /** Also those that are no longer valid: they must not be logged either, since a mistake may bring them back. */
  #secrets: readonly string[];
  readonly #listeners: ((set: CredentialSet) => void)[] = [];

  constructor(
    private readonly config: Config,
    handed?: CredentialSet,
  ) {
    this.#current = handed ?? readCredentials(config);
    this.#secrets = secretsOf(this.#current);
  }

  get current(): CredentialSet {
    return this.#current;
  }

  get haveFiles(): boolean {
    return filesOf(this.config).length > 0;
  }

  /** A new array whenever there are more of them. */
  get secrets(): readonly string[] {
    return this.#secrets;
  }

  onChange(listener: (set: CredentialSet) => void): void {
    this.#listeners.push(listener);
  }

  reload(): void {
    this.replace(readCredentials(this.config));
  }

  replace(next: CredentialSet): void {
    this.#secrets = [...new Set([...this.#secrets, ...secretsOf(next)])];
    this.#current = next;
    for (const listener of this.#listeners) listener(next);
  }
}

type FileOption = 'apiKeysFile' | 'readKeysFile' | 'jwtSecretFile' | 'workerTokenFile' | 'adminTokenFile';

const FLAGS: Readonly<Record<FileOption, string>> = {
  apiKeysFile: '--api-keys-file',
  readKeysFile: '--read-keys-file',
  jwtSecretFile: '--jwt-secret-file',
  workerTokenFile: '--worker-token-file',
  adminTokenFile: '--admin-token-file',
};

/** Development mode accepts every token, and a process without an API none: neither looks at the files. */
function filesOf(config: Config): readonly FileOption[] {
  if (config.dev || config.mode === 'worker') return [];
  return (Object.keys(FLAGS) as FileOption[]).filter((option) => config[option] !== null);
}

function readCredentials(config: Config): CredentialSet {
  const set = filesOf(config).reduce((found, option) => {
    const path = config[option] ?? '';
    try {
      return withFile(found, option, linesOf(path));
    } catch (error) {
      if (error instanceof InvalidValue) throw new UsageError(`${FLAGS[option]} ${path} ${error.message}`);
      throw new UsageError(
        `${FLAGS[option]}: cannot read ${path}: ${(error as NodeJS.ErrnoException).code ?? 'failed'}`,
      );
    }
  }, credentialsOf(config));
  checkDistinct(set);
  return set;
}

function withFile(set: CredentialSet, option: FileOption, lines: readonly string[]): CredentialSet {
  switch (option) {
    case 'apiKeysFile':
      return { ...set, apiKeys: addTo(set.apiKeys, apiKeys(lines.join(','))) };
    case 'readKeysFile':
      return { ...set, readKeys: addTo(set.readKeys, apiKeys(lines.join(','))) };
    case 'jwtSecretFile':
      if (lines.length > MAX_JWT_SECRETS) throw new InvalidValue(`must hold at most ${MAX_JWT_SECRETS} secrets`);
      return { ...set, jwtSecrets: [...set.jwtSecrets, ...lines] };
    case 'workerTokenFile':
      return { ...set, workerTokens: addTo(set.workerTokens, workerTokens(lines)) };
    case 'adminTokenFile':
      return { ...set, adminTokens: withNames(set.adminTokens, adminTokens(lines)) };
  }
}

/** A token that the flags hold as well must mean the same there. */
function addTo<V>(flags: ReadonlyMap<string, V>, file: ReadonlyMap<string, V>): ReadonlyMap<string, V> {
  for (const [token, meaning] of file) {
    if (flags.has(token) && flags.get(token) !== meaning)
      throw new InvalidValue('holds a token that a flag or variable gives another meaning');
  }
  return new Map([...flags, ...file]);
}

/** `TOKEN *`, or `TOKEN QUEUE QUEUE…`. Spaces and percent signs in a name, and the name `*`, are percent-encoded. */
function workerTokens(lines: readonly string[]): ReadonlyMap<string, ReadonlySet<string> | null> {
  const tokens = new Map<string, ReadonlySet<string> | null>();
  for (const [index, line] of lines.entries()) {
    const [token = '', ...queues] = line.split(/\s+/);
    const known = tokenOfLine(token, index);
    if (tokens.has(known))
      throw new InvalidValue(`line ${index + 1} repeats a token; name all of its queues in one line`);
    tokens.set(known, queuesOf(queues, index));
  }
  return tokens;
}

/** `TOKEN`, or `TOKEN NAME`: what stands behind the token is what the operator is called. */
function adminTokens(lines: readonly string[]): ReadonlyMap<string, string | null> {
  const tokens = new Map<string, string | null>();
  for (const [index, line] of lines.entries()) {
    const [, token = '', name = ''] = /^(\S+)\s*(.*)$/.exec(line) ?? [];
    const known = tokenOfLine(token, index);
    const operator = name === '' ? null : operatorOf(name, index);
    if (tokens.has(known) && tokens.get(known) !== operator)
      throw new InvalidValue(`line ${index + 1} lists the same token under two names`);
    tokens.set(known, operator);
  }
  return tokens;
}

function operatorOf(name: string, index: number): string {
  if (isStorableText(name) && characterCount(name) <= NAME_MAX_LENGTH) return name;
  throw new InvalidValue(`line ${index + 1} has a name that is longer than ${NAME_MAX_LENGTH} characters, or no text`);
}

/** A token of a flag may have its name in the file. */
const withNames = (
  flags: ReadonlyMap<string, string | null>,
  file: ReadonlyMap<string, string | null>,
): ReadonlyMap<string, string | null> => new Map([...flags, ...file]);

/** Null stands for every queue. */
function queuesOf(names: readonly string[], index: number): ReadonlySet<string> | null {
  if (names.length === 0)
    throw new InvalidValue(`line ${index + 1} names no queue after its token; write * for every queue`);
  if (!names.includes(EVERY_QUEUE)) return new Set(names.map((name) => queueOf(name, index)));
  if (names.length > 1) throw new InvalidValue(`line ${index + 1} names queues beside *, which stands for every queue`);
  return null;
}

const EVERY_QUEUE = '*';
const isQueueName = characters(NAME_MAX_LENGTH);

function queueOf(text: string, index: number): string {
  try {
    return isQueueName(decodeURIComponent(text));
  } catch {
    throw new InvalidValue(`line ${index + 1} contains an invalid queue name; write a percent sign as %25`);
  }
}

function tokenOfLine(text: string, index: number): string {
  try {
    return bearerToken(text);
  } catch (error) {
    throw new InvalidValue(`line ${index + 1} has a token that ${(error as Error).message}`);
  }
}

function linesOf(path: string): readonly string[] {
  const text = readBounded(path);
  const lines = text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
  if (lines.length === 0) throw new InvalidValue('is empty');
  if (!text.endsWith('\n')) throw new InvalidValue('does not end with a line end: it may have been cut off');
  return lines;
}

function readBounded(path: string): string {
  // Without O_NONBLOCK, opening a named pipe waits for somebody to write into it.
  const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    if (!fstatSync(file).isFile()) throw new InvalidValue('is not a regular file');
    const buffer = Buffer.alloc(MAX_FILE_BYTES + 1);
    let length = 0;
    for (let read = -1; read !== 0 && length < buffer.length; length += read)
      read = readSync(file, buffer, length, buffer.length - length, null);
    if (length > MAX_FILE_BYTES) throw new InvalidValue(`is larger than ${MAX_FILE_BYTES} bytes`);
    return buffer.toString('utf8', 0, length);
  } finally {
    closeSync(file);
  }
}
