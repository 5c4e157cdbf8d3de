import { spawnSync } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  hold,
  installAt,
  IS_ROOT,
  nobody,
  postmasterPid,
  query,
  removeLibraryLinks,
  scratch,
  useMadeDatabase,
} from './support.js';

const withDatabase = useMadeDatabase();

const ownerOfServer = (dir: string): number => statSync(`/proc/${postmasterPid(join(dir, 'pgdata'))}`).uid;

it('runs even if no script has linked the libraries', async () => {
  const home = scratch();
  chmodSync(home, 0o755);
  const installation = installAt(join(home, 'clone'));
  removeLibraryLinks(installation);
  const { url } = await hold(join(home, 'db'), installation).up();
  expect(await query(url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
});

describe.runIf(IS_ROOT)('as root', () => {
  it('hands the server to another user', async () => {
    const dir = scratch();
    await hold(dir).up();
    expect(ownerOfServer(dir)).not.toBe(0);
  });

  it('works in a directory that only root can enter', async () => {
    const home = scratch();
    chmodSync(home, 0o700);
    const installation = installAt(join(home, 'clone'));
    const dir = join(home, 'clone', '.millrace');
    const holder = hold(dir, installation);
    const { url } = await holder.up();
    await query(url, 'CREATE TABLE t AS SELECT 1 AS x');
    expect(ownerOfServer(dir)).not.toBe(0);
    expect(statSync(home).mode & 0o777).toBe(0o700);
    await holder.stop();
    expect(await query((await hold(dir, installation).up()).url, 'SELECT x FROM t')).toEqual([{ x: 1 }]);
  });

  it('runs the database of an ordinary user as that user, who can keep using it', async () => {
    const home = scratch();
    chmodSync(home, 0o755);
    const account = nobody();
    const installation = installAt(join(home, 'clone'), account);
    const dir = join(home, 'db');
    mkdirSync(dir, { mode: 0o700 });
    chownSync(dir, account.uid, account.gid);
    const first = hold(dir, { ...installation, account });
    await query((await first.up()).url, 'CREATE TABLE t AS SELECT 1 AS x');
    await first.stop();

    const asRoot = hold(dir, installation);
    await query((await asRoot.up()).url, 'INSERT INTO t VALUES (2)');
    expect(ownerOfServer(dir)).toBe(account.uid);
    const joined = hold(dir, { ...installation, account });
    expect(await joined.up()).toMatchObject({ owner: false });
    await asRoot.stop();
    await joined.stop();

    const again = await hold(dir, { ...installation, account }).up();
    expect(await query(again.url, 'SELECT count(*)::int AS n FROM t')).toEqual([{ n: 2 }]);
  });
});

const canMakeNamespaces = IS_ROOT && spawnSync('unshare', ['--pid', '--fork', '--mount-proc', 'true']).status === 0;

it.runIf(canMakeNamespaces)('does not start a second server on a directory that another container uses', async () => {
  const dir = await withDatabase();
  const container = hold(dir, { via: ['unshare', '--pid', '--fork', '--mount-proc', '--kill-child'] });
  const { url } = await container.up();
  expect(await hold(dir).failed()).toMatch(/is in use by a server that cannot be seen from here/);
  expect(await query(url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
});

describe.runIf(IS_ROOT)('as an ordinary user', () => {
  it('runs the server itself', async () => {
    const home = scratch();
    chmodSync(home, 0o755);
    const account = nobody();
    const installation = installAt(join(home, 'clone'), account);
    const dir = join(home, 'clone', '.millrace');
    const holder = hold(dir, { ...installation, account });
    expect(await query((await holder.up()).url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
    expect(ownerOfServer(dir)).toBe(account.uid);
    await holder.stop();
  });

  it('runs from a copy if the installation can be neither used nor repaired', async () => {
    const home = scratch();
    chmodSync(home, 0o777);
    const installation = installAt(join(home, 'clone')); // owned by root: not writable
    removeLibraryLinks(installation);
    const holder = hold(join(home, 'db'), { ...installation, account: nobody() });
    expect(await query((await holder.up()).url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
    await holder.stop();
  });

  it('cannot use the database of another user, and says so', async () => {
    const home = scratch();
    chmodSync(home, 0o777);
    const dir = join(home, 'db');
    const installation = installAt(join(home, 'clone'));
    await hold(dir, installation).up();
    expect(await hold(dir, { ...installation, account: nobody() }).failed()).toMatch(
      /^EmbeddedError: .*(cannot use|belongs to another user)/,
    );
  });
});
