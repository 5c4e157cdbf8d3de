import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { cloneDatabase } from '../../../server/test/support/database.js';
import { childrenOf, spawnMillrace, spawnServer, type ServingProcess } from '../../../server/test/support/processes.js';
import { until } from '../../../server/test/support/until.js';

const KEY = 'the-key-of-acme-1234';

function secretFile(text: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-secrets-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 'workers');
  writeFileSync(path, text);
  return path;
}

async function serve(args: readonly string[]): Promise<ServingProcess> {
  const database = await cloneDatabase();
  const server = await spawnServer({
    args: ['--mode=api', `--api-keys=${KEY}:acme`, ...args],
    env: { DATABASE_URL: database.url },
  });
  onTestFinished(async () => {
    server.signal('SIGKILL');
    await server.exited;
    await database.drop();
  });
  return server;
}

/** Each call opens a connection, so with several processes each of them is asked. */
async function statuses(server: ServingProcess, token: string): Promise<readonly number[]> {
  const ask = async (): Promise<number> => {
    const headers = { authorization: `Bearer ${token}`, connection: 'close' };
    return (await fetch(`${server.apiUrl!}/api/v1/queues/q/lease`, { method: 'POST', headers })).status;
  };
  return [await ask(), await ask()];
}

/** Kills one of two, and waits until both serve again. */
async function replaceOneProcess(parent: ServingProcess): Promise<void> {
  const before = childrenOf(parent.pid);
  process.kill(before[0]!, 'SIGKILL');
  await until(() => childrenOf(parent.pid).some((pid) => !before.includes(pid)), { what: 'a new process' });
  const page = async (): Promise<string> => (await fetch(`${parent.metricsUrl}/metrics`)).text();
  await until(async () => /^millrace_processes 2$/m.test(await page()), { what: 'both to serve' });
}

it.each(['1', '2'])('SIGHUP replaces the worker tokens of %s process(es) without a gap', async (processes) => {
  const path = secretFile('token-number-one *\n');
  const server = await serve([`--processes=${processes}`, `--worker-token-file=${path}`]);
  const reread = (count: number): Promise<unknown> =>
    until(() => server.log().filter(({ msg }) => String(msg).includes('credentials again')).length >= count, {
      what: `${count} lines about the credentials`,
    });
  const each = processes === '1' ? 1 : 3; // the parent and its two processes

  writeFileSync(path, 'token-number-one *\ntoken-number-two *\n');
  server.signal('SIGHUP');
  await reread(each);
  expect(await statuses(server, 'token-number-one')).toEqual([200, 200]);
  expect(await statuses(server, 'token-number-two')).toEqual([200, 200]);

  writeFileSync(path, 'token-number-two *\n');
  server.signal('SIGHUP');
  await reread(2 * each);
  expect(await statuses(server, 'token-number-one')).toEqual([401, 401]);
  expect(await statuses(server, 'token-number-two')).toEqual([200, 200]);

  // A file that is wrong is named once, and changes nothing.
  writeFileSync(path, 'token-number-three *\ntoken-number-three *\n');
  server.signal('SIGHUP');
  await reread(2 * each + 1);
  expect(await statuses(server, 'token-number-two')).toEqual([200, 200]);
  const [refusal, ...more] = server.log().filter(({ level }) => level === 'error');
  expect(refusal).toMatchObject({ reason: expect.stringContaining(path) as unknown });
  expect(more).toEqual([]);

  if (processes === '2') await replaceOneProcess(server);
  expect(await statuses(server, 'token-number-two')).toEqual([200, 200]);
  expect(await statuses(server, 'token-number-three')).toEqual([401, 401]);

  expect(server.stdout()).not.toMatch(/token-number/);
  for (const pid of childrenOf(server.pid))
    for (const file of ['cmdline', 'environ'])
      expect(readFileSync(`/proc/${pid}/${file}`, 'utf8')).not.toMatch(/token-number/);
  server.signal('SIGTERM');
  expect((await server.exited).code).toBe(0);
});

it('names a file that is missing and does not start', async () => {
  const server = spawnMillrace({
    args: [`--api-keys=${KEY}:acme`],
    env: { DATABASE_URL: 'postgres://localhost/x', MILLRACE_WORKER_TOKEN_FILE: '/no/such/file' },
  });
  expect((await server.exited).code).toBe(2);
  expect(server.stderr()).toBe('millrace: --worker-token-file: cannot read /no/such/file: ENOENT\n');
});
