import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { parseConfig, UsageError, type Config } from '../../src/config/config.js';
import { LiveCredentials } from '../../src/config/credential-files.js';

const folder = mkdtempSync(join(tmpdir(), 'millrace-credentials-'));
afterAll(() => rmSync(folder, { recursive: true }));

let files = 0;
function file(text: string): string {
  const path = join(folder, `file-${files++}`);
  writeFileSync(path, text);
  return path;
}

const config = (...argv: readonly string[]): Config =>
  parseConfig(['--database-url=postgres://localhost/x', ...argv], {}, { isTTY: false });

const KEYS = '--api-keys=key-of-a:a';
const WORKER = '--worker-token=worker-of-flag';

function refusal(...argv: readonly string[]): string {
  try {
    new LiveCredentials(config(...argv));
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    return error.message;
  }
  throw new Error('accepted');
}

it('adds what the files hold to what the flags say', () => {
  const { current } = new LiveCredentials(
    config(
      KEYS,
      `--api-keys-file=${file('key-of-b:b\r\n\nkey-of-c:c, key-of-d:d\n')}`,
      `--read-keys-file=${file('reader-of-a:a\n')}`,
      '--jwt-secret=first secret',
      `--jwt-secret-file=${file('second, with a comma\nthird\n')}`,
      WORKER,
      `--worker-token-file=${file('worker-of-all *\nworker-of-two mail with%20space\n')}`,
      `--admin-token-file=${file('admin-one\nadmin-two  Ada of the night shift\n')}`,
    ),
  );
  expect(current).toEqual({
    apiKeys: new Map([
      ['key-of-a', 'a'],
      ['key-of-b', 'b'],
      ['key-of-c', 'c'],
      ['key-of-d', 'd'],
    ]),
    readKeys: new Map([['reader-of-a', 'a']]),
    jwtSecrets: ['first secret', 'second, with a comma', 'third'],
    workerTokens: new Map([
      ['worker-of-flag', null],
      ['worker-of-all', null],
      ['worker-of-two', new Set(['mail', 'with space'])],
    ]),
    adminTokens: new Map([
      ['admin-one', null],
      ['admin-two', 'Ada of the night shift'],
    ]),
  });
});

it('lets a server start whose credentials are in files alone', () => {
  const argv = [`--jwt-secret-file=${file('secret\n')}`, `--worker-token-file=${file('worker *\n')}`];
  expect(new LiveCredentials(config(...argv)).current.jwtSecrets).toEqual(['secret']);
});

it('does not look at the files in development mode and in mode worker', () => {
  for (const flag of ['--dev', '--mode=worker']) {
    const credentials = new LiveCredentials(config(flag, '--api-keys-file=/no/such/file'));
    expect(credentials.haveFiles).toBe(false);
  }
});

describe('a file that is of no use is named, and nothing of it is repeated', () => {
  it.each([
    ['missing', '--jwt-secret-file', null, ': cannot read '],
    ['empty', '--jwt-secret-file', ' \n\n', ' is empty'],
    ['without a colon', '--api-keys-file', 'sesame:a\nsesame\n', ' entry 2 has no colon'],
    ['with a token that no header can carry', '--admin-token-file', 'ok\nsésame\n', ' line 2 has a token'],
    [
      'with an operator of two names',
      '--admin-token-file',
      'sesame ada\nsesame bob\n',
      ' line 2 lists the same token under two',
    ],
    ['with too long a name', '--admin-token-file', `sesame ${'ü'.repeat(256)}\n`, ' line 1 has a name'],
    ['with a queue that is no name', '--worker-token-file', 'sesame %zz\n', ' line 1 contains an invalid queue name'],
    ['with a token twice', '--worker-token-file', 'sesame a\nsesame b\n', ' line 2 repeats a token'],
    ['with too many secrets', '--jwt-secret-file', 'sesame\n'.repeat(11), ' must hold at most 10'],
    ['cut off within a line', '--worker-token-file', 'sesame mail', ' does not end with a line end'],
    ['with a worker token and no queue', '--worker-token-file', 'sesame\n', ' line 1 names no queue'],
    ['with every queue and one more', '--worker-token-file', 'sesame * mail\n', ' line 1 names queues beside *'],
    ['too large', '--api-keys-file', 'sesame:a,'.repeat(200_000), ' is larger than '],
  ])('%s', (_, flag, text, reason) => {
    const path = text === null ? join(folder, 'missing') : file(text);
    const message = refusal(KEYS, WORKER, `${flag}=${path}`);
    expect(message).toContain(flag);
    expect(message).toContain(path);
    expect(message).toContain(reason);
    expect(message).not.toContain('sesame');
  });

  it('a named pipe, at once, although nobody writes into it', () => {
    const path = join(folder, 'pipe');
    execFileSync('mkfifo', [path]);
    expect(refusal(KEYS, WORKER, `--jwt-secret-file=${path}`)).toContain(`${path} is not a regular file`);
  });

  it('and so is a token of two kinds, or of two meanings', () => {
    const shared = file('key-of-a *\n');
    expect(refusal(KEYS, `--worker-token-file=${shared}`)).toContain('must not share one');
    expect(refusal(KEYS, WORKER, `--api-keys-file=${file('key-of-a:b\n')}`)).toContain('another meaning');
    expect(refusal(KEYS, WORKER, `--worker-token-file=${file('worker-of-flag q\n')}`)).toContain('another meaning');
  });
});

describe('reading them again', () => {
  it('replaces what they held, and still knows the old secrets', () => {
    const path = file('worker-one *\n');
    const credentials = new LiveCredentials(config(KEYS, `--worker-token-file=${path}`));
    const seen: (readonly string[])[] = [];
    credentials.onChange(({ workerTokens }) => seen.push([...workerTokens.keys()]));
    writeFileSync(path, 'worker-two *\n');
    credentials.reload();
    expect(seen).toEqual([['worker-two']]);
    expect(credentials.secrets).toEqual(expect.arrayContaining(['worker-one', 'worker-two', 'key-of-a']));
  });

  it('changes nothing if one of them is wrong', () => {
    const workers = file('worker-one *\n');
    const secrets = file('secret-one\n');
    const argv = [KEYS, `--worker-token-file=${workers}`, `--jwt-secret-file=${secrets}`];
    const credentials = new LiveCredentials(config(...argv));
    credentials.onChange(() => expect.unreachable('nothing may change'));
    const before = credentials.current;
    writeFileSync(secrets, 'secret-two\n');
    writeFileSync(workers, '');
    expect(() => credentials.reload()).toThrow(`--worker-token-file ${workers} is empty`);
    expect(credentials.current).toBe(before);
  });
});
