import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { cloneDatabase, emptyDatabase, type TestDatabase } from '../../../server/test/support/database.js';
import { environmentOf } from '../../../server/test/support/pooled.js';
import { spawnMillrace, type ProcessOptions } from '../../../server/test/support/processes.js';
import { callMillrace, type Outcome } from '../support/cli.js';

type Environment = Readonly<Record<string, string>>;

const millrace = (args: readonly string[], env: Environment = {}): Promise<Outcome> =>
  callMillrace(args, { env: environmentOf(env) });

interface Ended extends Omit<Outcome, 'code'> {
  readonly code: number | null;
}

/** As a process: for commands that would take over the signals of this one, or start a database under it. */
async function spawned(args: readonly string[], env: ProcessOptions['env'] = {}): Promise<Ended> {
  const process = spawnMillrace({ args, env });
  const { code } = await process.exited;
  return { code, stdout: process.stdout(), stderr: process.stderr() };
}

describe('--help', () => {
  it.each([[['serve', '--help']], [['dev', '--help']], [['migrate', '-h']]])('%j prints every flag', async (args) => {
    const { code, stdout, stderr } = await millrace(args);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    for (const word of ['--api-port PORT', 'MILLRACE_API_PORT, default: 8000', 'DATABASE_URL']) {
      expect(stdout).toContain(word);
    }
  });
});

it('--version prints the version', async () => {
  expect(await millrace(['--version'])).toEqual({ code: 0, stdout: 'millrace 0.2.0\n', stderr: '' });
});

describe('openapi', () => {
  it('prints the description', async () => {
    const { code, stdout } = await millrace(['openapi']);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      openapi: expect.stringMatching(/^3\.1/) as unknown,
      info: { version: '1.0.0' },
    });
  });

  it('prints all of it into a pipe, which holds less than the whole', () => {
    const program = fileURLToPath(new URL('../../bin/millrace.mjs', import.meta.url));
    const text = execFileSync('sh', ['-c', '"$0" "$1" openapi | cat', process.execPath, program], {
      maxBuffer: 16 * 1024 * 1024,
    });
    expect(() => JSON.parse(text.toString()) as unknown).not.toThrow();
  });

  it('takes no flags', async () => {
    expect(await millrace(['openapi', '--dev'])).toEqual({
      code: 2,
      stdout: '',
      stderr: 'millrace: openapi takes no flags; see --help\n',
    });
  });
});

describe('a usage error', () => {
  const KEYS = ['--api-keys=key-a:a', '--worker-token=w'];
  const DATABASE_URL = 'postgres://nobody:hush-hush@127.0.0.1:1/none';

  it.each([
    [['constructor'], {}, 'unknown command; see --help'],
    [['--frobnicate'], {}, 'unknown flag --frobnicate; see --help'],
    [['--api-port=none'], {}, '--api-port must be a whole number from 0 to 65535, not "none"'],
    [[], { DATABASE_URL }, "mode all needs --api-keys or --jwt-secret (or --dev on a developer's machine)"],
    [
      ['--mode=api', '--jwt-secret=s'],
      { DATABASE_URL },
      "mode api needs --worker-token (or --dev on a developer's machine)",
    ],
    [
      ['--worker-token=w', '--api-keys=abc'],
      { DATABASE_URL },
      '--api-keys entry 1 has no colon; entries are <token>:<tenant>',
    ],
    [KEYS, { DATABASE_URL, MILLRACE_JWT_SECRET: '' }, 'MILLRACE_JWT_SECRET must not be empty'],
    [
      [],
      { DATABASE_URL, MILLRACE_DEV: '0' },
      "mode all needs --api-keys or --jwt-secret (or --dev on a developer's machine)",
    ],
    [
      [],
      { DATABASE_URL, MILLRACE_DEV: 'false' },
      "mode all needs --api-keys or --jwt-secret (or --dev on a developer's machine)",
    ],
    [KEYS, {}, 'no database: set DATABASE_URL to postgres://..., or to embedded:DIR for an embedded one, or try --dev'],
    [
      ['migrate'],
      {},
      'no database: set DATABASE_URL to postgres://..., or to embedded:DIR for an embedded one, or try --dev',
    ],
  ])('%j with %j exits with 2 and one line', async (args, env, line) => {
    expect(await millrace(args, env)).toEqual({ code: 2, stdout: '', stderr: `millrace: ${line}\n` });
  });
});

describe('migrate', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await emptyDatabase();
  });
  afterAll(() => database.drop());

  it('brings an empty database up to date, once', async () => {
    const first = await millrace(['migrate'], { DATABASE_URL: database.url });
    expect(first).toMatchObject({ code: 0, stderr: '' });
    expect(first.stdout).toMatch(/^applied 0001_\w+\n/);
    const second = await millrace(['migrate', `--database-url=${database.url}`]);
    expect(second).toMatchObject({ code: 0, stderr: '' });
    expect(second.stdout).toMatch(/^the schema is at version \d+; there was nothing to do\n$/);
  });

  it('works on an embedded database, and stops it again', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'millrace-migrate-'));
    const { code, stdout } = await spawned(['migrate', '--log-level=silent'], { DATABASE_URL: `embedded:${dir}` });
    expect(code).toBe(0);
    expect(stdout).toMatch(/^applied 0001_\w+\n/);
    rmSync(dir, { recursive: true });
  });

  it('says in one line that the database does not answer, without the password', async () => {
    const { code, stdout, stderr } = await millrace(['migrate'], {
      DATABASE_URL: 'postgres://u:hush-hush@127.0.0.1:1/d',
    });
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/^millrace: [^\n]*ECONNREFUSED[^\n]*\n$/);
    expect(stderr).not.toContain('hush');
  });
});

describe('a database that cannot be used as configured', async () => {
  const database = await cloneDatabase();
  afterAll(() => database.drop());
  const changed = (change: (url: URL) => void): string => {
    const url = new URL(database.url);
    change(url);
    return url.href;
  };
  const SERVING = ['--mode=worker', '--metrics-port=0', '--log-level=info', '--log-format=json'];
  const WRONG = [
    [
      'password',
      changed((url) => (url.password = 'hush-hush')),
      /^millrace: the database refuses these credentials: password authentication failed for user "[^"\n]*"\n$/,
    ],
    [
      'user',
      changed((url) => (url.username = 'nobody_at_all')),
      /^millrace: the database refuses these credentials: [^\n]*"nobody_at_all"\n$/,
    ],
    [
      'database',
      changed((url) => (url.pathname = '/not_there')),
      /^millrace: there is no such database: database "not_there" does not exist\n$/,
    ],
    [
      'host',
      // Too long for a name, so no name server need be asked.
      changed((url) => (url.hostname = `${'x'.repeat(64)}.invalid`)),
      /^millrace: the host of the database is unknown: getaddrinfo ENOTFOUND x{64}\.invalid\n$/,
    ],
  ] as const;

  it.each(WRONG)('with a wrong %s, fails a start without waiting', async (_what, url, line) => {
    const { code, stdout, stderr } = await spawned(SERVING, { DATABASE_URL: url });
    expect(stderr).toMatch(line);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  });

  it.each(WRONG)('with a wrong %s, fails migrate and doctor in the same words', async (_what, url, line) => {
    for (const command of ['migrate', 'doctor'])
      expect((await millrace([command], { DATABASE_URL: url })).stderr).toMatch(line);
  });
});

describe('serve on a schema of another version', () => {
  const SERVING = ['--mode=worker', '--metrics-port=0', '--log-level=silent'];

  it('refuses an older one if it may not migrate', async () => {
    const database = await emptyDatabase();
    const { code, stderr } = await spawned([...SERVING, '--auto-migrate=false'], { DATABASE_URL: database.url });
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /^millrace: the database schema is at version 0, this program needs \d+: run `millrace migrate`\n$/,
    );
    expect(await database.query("SELECT 1 FROM pg_namespace WHERE nspname = 'millrace'")).toEqual([]);
    await database.drop();
  });

  it('refuses a newer one', async () => {
    const database = await cloneDatabase();
    await database.query("INSERT INTO millrace.migrations (version, name) VALUES (9999, '9999_from_the_future')");
    const { code, stderr } = await spawned(SERVING, { DATABASE_URL: database.url });
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /^millrace: the database schema is at version 9999, newer than the \d+ this program knows[^\n]*\n$/,
    );
    await database.drop();
  });
});
