import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { get, type OutgoingHttpHeaders } from 'node:http';
import { connect, createServer, type AddressInfo, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLogger, startEmbedded } from '@millrace/server';
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { evenRanges } from '../../../server/src/domain/cells.js';
import { namesIn } from '../../../server/test/cells/kit.js';
import { cloneDatabase, type TestDatabase } from '../../../server/test/support/database.js';
import { freePort } from '../../../server/test/support/free-port.js';
import { isRunning, spawnMillrace, spawnServer, type ServingProcess } from '../../../server/test/support/processes.js';
import { until } from '../../../server/test/support/until.js';
import { finalStatus, untilHandled } from '../support/handled-jobs.js';

const KEY = 'the-key-of-acme';
const WORKER = 'the-token-of-workers';
const JWT_SECRET = 'the-secret-that-signs-the-tokens';
const CREDENTIALS = [`--api-keys=${KEY}:acme`, `--worker-token=${WORKER}`, `--jwt-secret=${JWT_SECRET}`];
/** A stop waits for what runs, and on a slow machine that takes a while. */
const PATIENT = '--shutdown-secs=600';

let database: TestDatabase;
beforeAll(async () => {
  database = await cloneDatabase();
});
afterAll(() => database.drop());

const started: ServingProcess[] = [];
afterEach(async () => {
  for (const child of started.splice(0)) {
    child.signal('SIGKILL');
    await child.exited;
  }
});

/** Removed after the test, along with a server that killed processes left running: its last orderly user stops it. */
function embeddedDirectory(): string {
  const dir = mkdtempSync(join(tmpdir(), 'millrace-cli-'));
  onTestFinished(async () => {
    for (const child of started) child.signal('SIGKILL');
    await Promise.all(started.map((child) => child.exited));
    const log = createLogger({ level: 'silent', format: 'json' });
    await (await startEmbedded({ dir, log })).stop();
    rmSync(dir, { recursive: true });
  });
  return dir;
}

async function serve(args: readonly string[], env: Record<string, string> = {}): Promise<ServingProcess> {
  const server = await spawnServer({ args, env: { DATABASE_URL: database.url, ...env } });
  started.push(server);
  return server;
}

async function stop(server: ServingProcess, signal: NodeJS.Signals = 'SIGTERM'): Promise<number | null> {
  server.signal(signal);
  return (await server.exited).code;
}

async function createJob(server: ServingProcess, token: string, body: object): Promise<string> {
  const { status, body: answer } = await server.as(token).post('/api/v1/jobs', body);
  expect(status).toBe(201);
  return answer.job_id as string;
}

async function jobStatus(server: ServingProcess, token: string, id: string): Promise<string> {
  return (await server.as(token).get(`/api/v1/jobs/${id}`)).body.status as string;
}

const refused = (url: string): Promise<boolean> =>
  fetch(url).then(
    () => false,
    () => true,
  );

describe('development mode', () => {
  it('by the variable lets any bearer in as tenant1, whatever credentials are configured, and warns', async () => {
    const server = await serve(CREDENTIALS, { MILLRACE_DEV: '1' });
    const id = await createJob(server, 'anything', { task_name: 't', config: { queue: 'elsewhere' } });
    expect((await server.as('another').get(`/api/v1/jobs/${id}`)).body).toMatchObject({ tenant_id: 'tenant1' });
    expect((await server.as('another').post('/api/v1/queues/elsewhere/lease')).status).toBe(200);
    expect((await server.as(null).get('/api/v1/jobs')).status).toBe(401);
    expect(server.log()).toContainEqual(
      expect.objectContaining({ level: 'warn', msg: expect.stringContaining('DEVELOPMENT MODE') as unknown }),
    );
    expect(await stop(server)).toBe(0);
  });

  it('by the flag prints where everything is, and a request that works', async () => {
    const server = await serve(['--dev']);
    const text = await until(() => (server.stdout().includes('curl ') ? { text: server.stdout() } : null), {
      what: 'the banner',
    });
    for (const url of [`${server.apiUrl}/docs`, `${server.metricsUrl}/metrics`]) {
      expect(text.text).toContain(url);
      expect((await fetch(url)).status).toBe(200);
    }
    const curl = /^ *(curl .*)$/m.exec(text.text)![1]!;
    const { job_id: id } = JSON.parse(execFileSync('sh', ['-c', curl], { encoding: 'utf8' })) as { job_id: string };
    await until(async () => (await jobStatus(server, 'dev', id)) === 'completed', { what: 'the job to complete' });
    expect(text.text).toContain('Retries begin after 1 s here, unless a job says otherwise.');
    expect(text.text).toContain('Any page open in your browser can reach this server');
    expect(text.text).toContain('--cors-origins none ends that');
  });

  it('answers to no host name but those of this machine, on either port, and to pages as it is told', async () => {
    const server = await serve(['--dev', '--cors-origins=none']);
    const status = (url: string, headers: OutgoingHttpHeaders): Promise<number | undefined> =>
      new Promise((resolve, reject) =>
        get(url, { headers }, (reply) => resolve(reply.resume().statusCode)).on('error', reject),
      );
    for (const url of [`${server.apiUrl}/health`, `${server.metricsUrl}/metrics`]) {
      expect(await status(url, { host: 'evil.example' })).toBe(421);
      expect(await status(url, { host: 'localhost:1' })).toBe(200);
    }
    const page = await server.as('any').get('/api/v1/jobs', { origin: 'https://evil.example' });
    expect(page.headers.get('access-control-allow-origin')).toBeNull();
    expect(await stop(server)).toBe(0);
    expect(server.stdout()).toContain('Try it:');
    expect(server.stdout()).not.toContain('Any page open');
  });
});

describe('modes', () => {
  it('worker needs no credentials, has no API, serves metrics and runs jobs', async () => {
    const port = await freePort();
    const worker = spawnMillrace({
      args: ['--mode=worker', `--api-port=${port}`, '--metrics-port=0', '--host=127.0.0.1'],
      env: { DATABASE_URL: database.url },
    });
    const { api, metrics } = await worker.logged((line) => line.msg === 'listening');
    expect(api).toBeNull();
    expect((await fetch(`${metrics as string}/metrics`)).status).toBe(200);
    expect(await refused(`http://127.0.0.1:${port}/health`)).toBe(true);

    const front = await serve(['--mode=api', ...CREDENTIALS]);
    const id = await createJob(front, KEY, { task_name: 'echo', payload: { n: 1 } });
    await until(async () => (await jobStatus(front, KEY, id)) === 'completed', { what: 'the worker to run the job' });
    worker.signal('SIGTERM');
    expect((await worker.exited).code).toBe(0);
  });
});

describe('stopping', () => {
  it.each(['SIGTERM', 'SIGINT', 'SIGHUP'] as const)(
    '%s lets the running job finish and exits with 0',
    async (signal) => {
      const server = await serve([...CREDENTIALS, PATIENT]);
      const id = await createJob(server, KEY, { task_name: 'sleep', payload: { duration_ms: 700 } });
      await untilHandled(database, server, id);
      expect(await stop(server, signal)).toBe(0);
      expect(await finalStatus(database, id)).toBe('completed');
    },
  );

  it.each([
    ['SIGTERM', 143],
    ['SIGINT', 130],
  ] as const)('a second %s ends at once', async (signal, code) => {
    const server = await serve([...CREDENTIALS, PATIENT]);
    const id = await createJob(server, KEY, {
      ...{ task_name: 'sleep', payload: { duration: 600 }, config: { timeout_secs: 600 } },
    });
    await untilHandled(database, server, id);
    server.signal(signal);
    await server.logged((line) => String(line.msg).startsWith('stopping'));
    server.signal(signal);
    expect((await server.exited).code).toBe(code);
  });
});

describe('a start that cannot succeed', () => {
  it.each([
    ['--api-port', '--metrics-port=0'],
    ['--metrics-port', '--api-port=0'],
  ])('names the %s that is taken, before it makes a database', async (flag, other) => {
    const [taken, port] = await listen();
    const home = mkdtempSync(join(tmpdir(), 'millrace-cli-'));
    onTestFinished(() => rmSync(home, { recursive: true }));
    const process = spawnMillrace({
      args: ['dev', '--host=127.0.0.1', `${flag}=${port}`, other, `--data-dir=${join(home, 'data')}`],
    });
    expect((await process.exited).code).toBe(1);
    expect(process.stderr()).toMatch(new RegExp(`^millrace: 127\\.0\\.0\\.1:${port} is already in use;[^\\n]*\\n$`));
    expect(existsSync(join(home, 'data'))).toBe(false);
    taken.close();
  });

  it('says that the host is not an address of this machine', async () => {
    const process = spawnMillrace({
      args: [...CREDENTIALS, '--host=192.0.2.77', '--api-port=0', '--metrics-port=0'],
      env: { DATABASE_URL: database.url },
    });
    expect((await process.exited).code).toBe(1);
    expect(process.stderr()).toMatch(/^millrace: cannot listen on --host: [^\n]*\n$/);
  });
});

describe('a database that is not up yet', () => {
  it('is waited for', async () => {
    const port = await freePort();
    const process = spawnMillrace({
      args: ['--mode=worker', '--metrics-port=0', `--database-url=${viaPort(port)}`],
    });
    await process.logged((line) => String(line.msg).includes('does not answer'));
    const proxy = await proxyToDatabase(port);
    await process.logged((line) => line.msg === 'listening');
    process.signal('SIGTERM');
    expect((await process.exited).code).toBe(0);
    proxy.close();
  });

  it('does not delay a signal', async () => {
    const process = spawnMillrace({
      args: ['--mode=worker', '--metrics-port=0'],
      env: { DATABASE_URL: 'postgres://u:hush-hush@127.0.0.1:1/d' },
    });
    await process.logged((line) => String(line.msg).includes('does not answer'));
    process.signal('SIGINT');
    expect((await process.exited).code).toBe(0);
    expect(process.stdout()).not.toContain('hush');
  });
});

it('keeps every secret out of what it prints', async () => {
  const server = await serve([...CREDENTIALS, '--log-level=trace']);
  const guess = 'a-token-that-somebody-guessed';
  await server.as(guess).get('/api/v1/jobs');
  const id = await createJob(server, KEY, { task_name: 't', config: { queue: 'q' } });
  const leased = await server.as(WORKER).post('/api/v1/queues/q/lease');
  const token = leased.body.jobs[0].lease_token as string;
  await server.as(WORKER).post(`/api/v1/jobs/${id}/complete`, { lease_token: token });
  await stop(server);
  const output = server.stdout() + server.stderr();
  const { password } = new URL(database.url);
  for (const secret of [KEY, WORKER, JWT_SECRET, guess, token, password]) expect(output).not.toContain(secret);
});

describe('with the embedded database', () => {
  it('keeps its jobs across a stop and a kill -9, and a second process joins', async () => {
    const dir = embeddedDirectory();
    const start = (): Promise<ServingProcess> => serve(['--dev', `--data-dir=${dir}`], { DATABASE_URL: '' });
    const job = { task_name: 'left alone', config: { queue: 'nobody-works-here' } };
    const first = await start();
    const ids = [await createJob(first, 'dev', job)];
    expect(await stop(first, 'SIGINT')).toBe(0);

    const second = await start();
    ids.push(await createJob(second, 'dev', job));
    second.signal('SIGKILL');
    await second.exited;

    const [third, fourth] = await Promise.all([start(), start()]);
    expect(await stop(third)).toBe(0);
    for (const id of ids) expect(await jobStatus(fourth, 'dev', id)).toBe('pending');
    const postmaster = Number(readFileSync(join(dir, 'pgdata', 'postmaster.pid'), 'utf8').split('\n')[0]);
    expect(await stop(fourth)).toBe(0);
    expect(isRunning(postmaster)).toBe(false);
  });

  it('divides it into cells, finds them again after a kill -9, and keeps their number', async () => {
    const dir = embeddedDirectory();
    const names = namesIn(evenRanges(2));
    const keys = names.map((name) => `the-key-of-${name}`);
    const flags = (cells: number): string[] => [
      `--database-url=embedded:${dir}`,
      `--cells=${cells}`,
      `--api-keys=${names.map((name, n) => `${keys[n]}:${name}`).join(',')}`,
      `--worker-token=${WORKER}`,
    ];
    const job = { task_name: 'left alone', config: { queue: 'nobody-works-here' } };
    const first = await serve(flags(2), { DATABASE_URL: '' });
    const ids = await Promise.all(keys.map((key) => createJob(first, key, job)));
    first.signal('SIGKILL');
    await first.exited;

    const second = await serve(flags(2), { DATABASE_URL: '' });
    for (const [n, key] of keys.entries()) expect(await jobStatus(second, key, ids[n]!)).toBe('pending');
    const leased = await second.as(WORKER).post('/api/v1/queues/nobody-works-here/lease', { max_jobs: 9 });
    const jobs = leased.body.jobs as { readonly job: { readonly id: string; readonly tenant_id: string } }[];
    const expected = names.map((name, n) => [name, ids[n]]);
    expect(jobs.map(({ job: { id, tenant_id } }) => [tenant_id, id]).sort()).toEqual(expected.sort());
    expect(await stop(second)).toBe(0);

    const other = spawnMillrace({ args: ['serve', ...flags(4)] });
    expect((await other.exited).code).toBe(2);
    expect(other.stderr()).toContain('has 2 cells, and keeps them: give --cells 2, or another --data-dir');
  });
});

async function listen(): Promise<[Server, number]> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return [server, (server.address() as AddressInfo).port];
}

function viaPort(port: number): string {
  const { username, password, pathname } = new URL(database.url);
  return `postgresql://${username}:${password}@127.0.0.1:${port}${pathname}`;
}

/** The test database's socket on a TCP port. */
async function proxyToDatabase(port: number): Promise<Server> {
  const socket = join(decodeURIComponent(new URL(database.url).hostname), '.s.PGSQL.5432');
  const proxy = createServer((client) => {
    const server = connect(socket);
    client
      .on('error', () => server.destroy())
      .pipe(server)
      .on('error', () => client.destroy());
    server.pipe(client);
  });
  await new Promise<void>((resolve) => proxy.listen(port, '127.0.0.1', resolve));
  return proxy;
}
