import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { isRunning, spawnMillrace } from '../support/processes.js';
import { until } from '../support/until.js';
import { hold, postmasterPid, query, scratch, useMadeDatabase } from './support.js';

const withDatabase = useMadeDatabase();

/** The process stands still once it has started initdb: however late it is killed, it has come no further. */
const STOP_AT_INITDB = `--import=data:text/javascript,${encodeURIComponent(`
  import programs from 'node:child_process';
  import { syncBuiltinESMExports } from 'node:module';
  const { spawn } = programs;
  programs.spawn = (program, ...rest) => {
    const child = spawn(program, ...rest);
    if (program.endsWith('initdb') && rest[0].length > 1) process.kill(process.pid, 'SIGSTOP');
    return child;
  };
  syncBuiltinESMExports();`)}`;

describe('kill -9', () => {
  it('of the process leaves a server that the next start uses', async () => {
    const dir = await withDatabase();
    const first = hold(dir);
    await query((await first.up()).url, 'CREATE TABLE kept AS SELECT 7 AS x');
    const pid = postmasterPid(join(dir, 'pgdata'));
    first.signal('SIGKILL');
    await first.exited;
    expect(isRunning(pid)).toBe(true);

    const second = hold(dir);
    const { url, owner } = await second.up();
    expect(owner).toBe(false);
    expect(await query(url, 'SELECT x FROM kept')).toEqual([{ x: 7 }]);
    await second.stop();
    expect(isRunning(pid)).toBe(false); // the dead process does not count as a user
  });

  it('of everything at once loses nothing that was committed', async () => {
    const dir = await withDatabase();
    const first = hold(dir);
    await query((await first.up()).url, 'CREATE TABLE kept AS SELECT generate_series(1, 1000) AS x');
    first.signal('SIGKILL');
    process.kill(postmasterPid(join(dir, 'pgdata')), 'SIGKILL');
    await first.exited;

    const { url, owner } = await hold(dir).up();
    expect(owner).toBe(true);
    expect(await query(url, 'SELECT count(*)::int AS n FROM kept')).toEqual([{ n: 1000 }]);
  });

  it('of the server alone is repaired while it is in use, at the same address', async () => {
    const dir = await withDatabase();
    const holders = [hold(dir), hold(dir)];
    const [{ url }] = (await Promise.all(holders.map((holder) => holder.up()))) as [{ url: string }, unknown];
    await query(url, 'CREATE TABLE kept AS SELECT 1 AS x');
    const before = postmasterPid(join(dir, 'pgdata'));
    process.kill(before, 'SIGKILL');
    const rows = await until(() => query(url, 'SELECT x FROM kept').catch(() => null), {
      what: 'the server to be back',
    });
    expect(rows).toEqual([{ x: 1 }]);
    expect(postmasterPid(join(dir, 'pgdata'))).not.toBe(before);
  });

  it('during the initialisation is repaired by the next start', async () => {
    const dir = scratch();
    const first = hold(dir, { env: { NODE_OPTIONS: STOP_AT_INITDB } });
    await until(() => readdirSync(dir).some((name) => name.startsWith('pgdata.new-')), {
      everyMs: 2,
      what: 'initdb to begin',
    });
    first.signal('SIGKILL');
    await first.exited;
    expect(readdirSync(dir)).not.toContain('pgdata');

    const { url } = await hold(dir).up();
    expect(await query(url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
    expect(readdirSync(dir).filter((name) => name.startsWith('pgdata'))).toEqual(['pgdata']);
  });

  it('at any other instant of a start does not block the next one either', async () => {
    const dir = scratch();
    for (const delay of [0, 40, 80, 120, 160, 240, 320, 400]) {
      const victim = hold(dir);
      await victim.logged((line) => line.event === 'starting');
      // Not a wait for something to happen: the instants at which the process is killed.
      await new Promise((resolve) => setTimeout(resolve, delay));
      victim.signal('SIGKILL');
      await victim.exited;
    }
    const { url } = await hold(dir).up();
    expect(await query(url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
  });
});

describe('a pid file', () => {
  it('whose pid now belongs to another program is no obstacle', async () => {
    const dir = await withDatabase();
    const first = hold(dir);
    await first.up();
    const file = join(dir, 'pgdata', 'postmaster.pid');
    const [pid, ...rest] = readFileSync(file, 'utf8').split('\n');
    // In this order: it would repair what was killed before it.
    first.signal('SIGKILL');
    process.kill(Number(pid), 'SIGKILL');
    await first.exited;
    await until(() => !isRunning(Number(pid)), { what: 'the server to be gone' });

    // An unrelated process of the same user: otherwise PostgreSQL itself would see that it cannot be its own.
    const bystander = spawnMillrace({ script: '-e', args: ['setInterval(() => {}, 1000)'] });
    writeFileSync(file, [bystander.pid, ...rest].join('\n'));
    const second = hold(dir);
    expect(await second.up()).toMatchObject({ owner: true });
    expect(isRunning(bystander.pid)).toBe(true);
    await second.stop();
    bystander.signal('SIGKILL');
    await bystander.exited;
  });

  it('whose process is gone is no obstacle', async () => {
    const dir = await withDatabase();
    const first = hold(dir);
    await first.up();
    const file = join(dir, 'pgdata', 'postmaster.pid');
    const remains = readFileSync(file, 'utf8');
    await first.stop();
    writeFileSync(file, remains);
    expect(await hold(dir).up()).toMatchObject({ owner: true });
  });
});
