import { mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { isRunning } from '../support/processes.js';
import { until } from '../support/until.js';
import { hold, postmasterPid, postmasters, query, scratch, useMadeDatabase } from './support.js';

const withDatabase = useMadeDatabase();

describe('a first start', () => {
  it('makes a durable database in UTF-8, C and UTC, whatever the environment says', async () => {
    const holder = hold(scratch(), {
      env: {
        LANG: 'tlh_KX.UTF-9',
        LC_ALL: 'de_DE.nowhere',
        LC_MESSAGES: 'xx',
        TZ: 'Mars/Phobos',
        PGDATA: '/nonexistent',
        PGPORT: 'no port',
        PGTZ: 'Mars/Phobos',
        LD_LIBRARY_PATH: '/nonexistent',
      },
    });
    const { url, owner } = await holder.up();
    expect(owner).toBe(true);
    const settings = await query(
      url,
      `SELECT name, setting FROM pg_settings
       WHERE name IN ('fsync', 'synchronous_commit', 'full_page_writes', 'server_encoding', 'TimeZone',
                      'listen_addresses')`,
    );
    expect(Object.fromEntries(settings.map((row) => [row.name, row.setting]))).toEqual({
      TimeZone: 'UTC',
      fsync: 'on',
      full_page_writes: 'on',
      listen_addresses: '',
      server_encoding: 'UTF8',
      synchronous_commit: 'on',
    });
    const [row] = await query(
      url,
      `SELECT datcollate, datctype, current_setting('server_version_num')::int / 10000 AS major
       FROM pg_database WHERE datname = current_database()`,
    );
    expect(row).toEqual({ datcollate: 'C', datctype: 'C', major: 18 });
  });

  it('admits nobody without the password, which only the owner can read', async () => {
    const dir = scratch();
    const { url } = await hold(dir).up();
    const other = new URL(url);
    other.password = 'guess';
    await expect(query(other.href, 'SELECT 1')).rejects.toThrow(/password authentication failed/);
    const dataDir = join(dir, 'pgdata');
    expect(statSync(dataDir).mode & 0o777).toBe(0o700);
    expect(statSync(join(dataDir, 'millrace-password')).mode & 0o777).toBe(0o600);
    const rules = readFileSync(join(dataDir, 'pg_hba.conf'), 'utf8')
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'));
    expect(rules.map((rule) => rule.split(/\s+/).at(-1))).toEqual(['scram-sha-256', 'scram-sha-256', 'scram-sha-256']);
  });

  it('keeps the password off every command line and out of the log', async () => {
    const dir = scratch();
    const { url } = await hold(dir).up();
    const { password } = new URL(url);
    expect(password.length).toBeGreaterThanOrEqual(32);
    expect(readFileSync(`/proc/${postmasterPid(join(dir, 'pgdata'))}/cmdline`, 'utf8')).not.toContain(password);
    expect(readFileSync(join(dir, 'postgres.log'), 'utf8')).not.toContain(password);
  });
});

describe('a restart', () => {
  it('keeps the data, and a stop leaves no process and no lock behind', async () => {
    const dir = await withDatabase();
    const first = hold(dir);
    await query((await first.up()).url, 'CREATE TABLE kept AS SELECT 42 AS answer');
    const pid = postmasterPid(join(dir, 'pgdata'));
    await first.stop();
    expect(isRunning(pid)).toBe(false);
    expect([...readdirSync(join(dir, 'users')), ...readdirSync(join(dir, 'lock'))]).toEqual([]);

    const second = hold(dir);
    expect(await query((await second.up()).url, 'SELECT answer FROM kept')).toEqual([{ answer: 42 }]);
  });
});

describe('several processes', () => {
  it('share one directory, and the last one to leave stops the server', async () => {
    const dir = await withDatabase();
    const first = hold(dir);
    const { url } = await first.up();
    const second = hold(dir);
    const joined = await second.up();
    expect(joined).toEqual({ url, owner: false });

    await first.stop();
    expect(await query(url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
    await second.stop();
    expect(postmasters(dir)).toEqual([]);
  });

  it('may start at the same instant on an empty directory', async () => {
    const dir = scratch();
    const holders = Array.from({ length: 5 }, () => hold(dir));
    const up = await Promise.all(holders.map((holder) => holder.up()));
    expect(up.filter((embedded) => embedded.owner)).toHaveLength(1);
    expect(new Set(up.map((embedded) => embedded.url)).size).toBe(1);
    expect(await query(up[0]!.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
    await Promise.all(holders.map((holder) => holder.stop()));
    expect(postmasters(dir)).toEqual([]);
  });

  it('may stop and start at the same instant without losing the server', async () => {
    const dir = await withDatabase();
    let previous = hold(dir);
    await previous.up();
    for (let round = 0; round < 3; round++) {
      const next = hold(dir);
      const stopped = previous.stop();
      const { url } = await next.up();
      await stopped;
      expect(await query(url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
      previous = next;
    }
  });

  it('do not interfere in neighbouring directories', async () => {
    const [one, two] = [hold(await withDatabase()), hold(await withDatabase())];
    const [a, b] = await Promise.all([one.up(), two.up()]);
    await query(a.url, 'CREATE TABLE only_here (x int)');
    await expect(query(b.url, 'SELECT * FROM only_here')).rejects.toThrow(/does not exist/);
    await one.stop();
    expect(await query(b.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
  });
});

describe('the directory', () => {
  it.each([
    ['a path far longer than a socket address', 'deep-'.repeat(40)],
    ['spaces, quotes, percent signs and other alphabets', `it's 100% "ours" & ünï ☃ #1?`],
  ])('may have %s', async (_, name) => {
    const holder = hold(join(scratch(), name, 'db'));
    expect(await query((await holder.up()).url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
    await holder.stop();
  });

  it('is one database whichever path leads to it', async () => {
    const dir = scratch();
    const real = await withDatabase();
    symlinkSync(real, join(dir, 'alias'));
    const { url } = await hold(real).up();
    expect(await hold(join(dir, 'alias')).up()).toEqual({ url, owner: false });
  });

  it('is refused with a reason if it cannot be used', async () => {
    const dir = scratch();
    writeFileSync(join(dir, 'file'), '');
    expect(await hold(join(dir, 'file')).failed()).toMatch(
      /^EmbeddedError: cannot use .*file for the embedded database/,
    );

    mkdirSync(join(dir, 'foreign', 'pgdata'), { recursive: true });
    expect(await hold(join(dir, 'foreign')).failed()).toMatch(
      /^EmbeddedError: .*(is not a PostgreSQL data directory|belongs to root)/,
    );
  });

  it('is refused if another major version made it', async () => {
    const dir = await withDatabase();
    writeFileSync(join(dir, 'pgdata', 'PG_VERSION'), '15\n');
    expect(await hold(dir).failed()).toMatch(/made by PostgreSQL 15, and PostgreSQL 18 cannot read it/);
  });
});

describe('Ctrl-C in a terminal', () => {
  it('reaches the process but not its database, which it still needs', async () => {
    const dir = await withDatabase();
    const holder = hold(dir, { detached: true });
    const { url } = await holder.up();
    process.kill(-holder.pid, 'SIGINT'); // to the whole process group, as a terminal does
    expect(await query(url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
    const [row] = await query(
      url,
      `SELECT pg_postmaster_start_time() < now() AS untouched, count(*) FROM pg_stat_activity
       WHERE datname = current_database() GROUP BY 1`,
    );
    expect(row).toMatchObject({ untouched: true });
    expect(readFileSync(join(dir, 'postgres.log'), 'utf8')).not.toContain('shutdown request');
    await holder.stop();
  });
});

it('an exit without a stop still stops the server if nobody else uses it', async () => {
  const dir = await withDatabase();
  const holder = hold(dir);
  await holder.up();
  const pid = postmasterPid(join(dir, 'pgdata'));
  holder.signal('SIGUSR2');
  expect((await holder.exited).code).toBe(3);
  await until(() => !isRunning(pid), { what: 'the server to stop by itself' });
});
