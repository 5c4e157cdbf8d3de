import { request } from 'node:http';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { cloneCells } from '../../../server/test/support/cells.js';
import { cloneDatabase, type TestDatabase } from '../../../server/test/support/database.js';
import {
  childrenOf,
  isRunning,
  spawnMillrace,
  spawnServer,
  type ServingProcess,
} from '../../../server/test/support/processes.js';
import { until } from '../../../server/test/support/until.js';
import { finalStatus, untilHandled } from '../support/handled-jobs.js';
import { afterCrash, MAX_FAILURES, SOON_MS } from '../../src/server/fleet/restarts.js';

const KEY = 'the-key-of-acme-77';
const CREDENTIALS = [`--api-keys=${KEY}:acme`, '--worker-token=the-token-of-workers'];

let database: TestDatabase;
beforeAll(async () => {
  database = await cloneDatabase();
});
afterAll(() => database.drop());

const started: ServingProcess[] = [];
afterEach(async () => {
  for (const parent of started.splice(0)) {
    const children = childrenOf(parent.pid);
    parent.signal('SIGKILL');
    await parent.exited;
    await ended(children);
  }
});

interface FleetOptions {
  readonly args?: readonly string[];
  readonly url?: string;
  readonly detached?: boolean;
}

async function serveTwo({
  args = [],
  url = database.url,
  detached = false,
}: FleetOptions = {}): Promise<ServingProcess> {
  // A stop waits for what runs, and on a slow machine that takes a while.
  const patient = '--shutdown-secs=600';
  const options = { args: ['--processes=2', patient, ...CREDENTIALS, ...args], env: { DATABASE_URL: url }, detached };
  const parent = await spawnServer(options);
  started.push(parent);
  return parent;
}

const ended = (pids: readonly number[]): Promise<unknown> =>
  until(() => !pids.some(isRunning) || `${pids.filter(isRunning).join()} still run`, { what: 'the processes to end' });

/** On a connection of its own, so that each may reach another process. */
function onNewConnection(parent: ServingProcess, path: string): Promise<Record<string, number>> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${KEY}` };
    const call = request(`${parent.apiUrl!}${path}`, { agent: false, headers }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (part: string) => (text += part));
      response.on('end', () => resolve(JSON.parse(text) as Record<string, number>));
    });
    call.on('error', reject).end();
  });
}

async function metricsOf(parent: ServingProcess): Promise<(name: string) => number | undefined> {
  const page = await (await fetch(`${parent.metricsUrl}/metrics`)).text();
  return (name) => {
    const line = page.split('\n').find((each) => each.startsWith(`${name} `));
    return line === undefined ? undefined : Number(line.slice(name.length));
  };
}

/** It answers 503 where a process took its time: wherever this machine is held up. */
const readyOf = (parent: ServingProcess): Promise<unknown> =>
  until(
    async () => {
      const reply = await fetch(`${parent.metricsUrl}/ready`);
      return reply.status === 200 && ((await reply.json()) as object);
    },
    { what: 'the processes to be ready' },
  );

async function createJobs(parent: ServingProcess, count: number): Promise<void> {
  const jobs = Array.from({ length: count }, () => ({ task_name: 't', config: { queue: 'nobody-works-here' } }));
  expect((await parent.as(KEY).post('/api/v1/jobs/batch', { jobs })).status).toBe(201);
}

async function startSleeping(parent: ServingProcess, durationMs: number): Promise<string> {
  const job = { task_name: 'sleep', payload: { duration_ms: durationMs }, config: { timeout_secs: 600 } };
  const id = (await parent.as(KEY).post('/api/v1/jobs', job)).body.job_id as string;
  await untilHandled(database, parent, id);
  return id;
}

it('spreads connections, adds up what the processes count, and stops all of them on one signal', async () => {
  const parent = await serveTwo({ detached: true });
  const children = childrenOf(parent.pid);
  expect(children).toHaveLength(2);
  await createJobs(parent, 5);
  const counted = [await onNewConnection(parent, '/api/v1/stats'), await onNewConnection(parent, '/api/v1/stats')];
  expect(counted.map((stats) => stats.jobs_created).sort()).toEqual([0, 5]);

  const metrics = await metricsOf(parent);
  expect(metrics('millrace_processes')).toBe(2);
  expect(metrics('millrace_jobs_created_total')).toBe(5);
  expect(metrics('millrace_pool_workers{state="idle"}')).toBe(20);
  // What is true of the whole database is not counted once per process.
  expect(metrics('millrace_queue_depth{queue="nobody-works-here",status="pending"}')).toBe(5);
  await readyOf(parent);
  expect((await fetch(`${parent.metricsUrl}/health`)).status).toBe(200);

  const id = await startSleeping(parent, 700);
  // To the whole group, as a terminal sends it: each of them gets it.
  process.kill(-parent.pid, 'SIGINT');
  expect((await parent.exited).code).toBe(0);
  expect(await finalStatus(database, id)).toBe('completed');
  await ended(children);
});

it('ends all of them at once on a second signal', async () => {
  const parent = await serveTwo();
  const children = childrenOf(parent.pid);
  await startSleeping(parent, 600_000);
  parent.signal('SIGTERM');
  await parent.logged((line) => String(line.msg).startsWith('stopping'));
  parent.signal('SIGTERM');
  expect((await parent.exited).code).toBe(143);
  await ended(children);
});

describe('a process that ends unexpectedly', () => {
  it('is started again, and no counter goes down; those of a killed parent end with it', async () => {
    const parent = await serveTwo();
    await createJobs(parent, 3);
    expect((await metricsOf(parent))('millrace_jobs_created_total')).toBe(3);
    for (const pid of childrenOf(parent.pid)) {
      process.kill(pid, 'SIGKILL');
      const replaced = async (): Promise<boolean> => {
        const restarts = (await metricsOf(parent))('millrace_process_restarts_total');
        return !isRunning(pid) && childrenOf(parent.pid).length === 2 && restarts! > 0;
      };
      await until(replaced, { what: 'two processes again' });
    }
    const metrics = await metricsOf(parent);
    expect(metrics('millrace_jobs_created_total')).toBe(3);
    expect(metrics('millrace_process_restarts_total')).toBe(2);
    const recovered = async (): Promise<boolean> => (await metricsOf(parent))('millrace_processes') === 2;
    await until(recovered, { what: 'both to serve' });
    await readyOf(parent);

    const children = childrenOf(parent.pid);
    parent.signal('SIGKILL');
    await ended(children);
  });

  it('is not waited for if it is to stop while it starts again', async () => {
    const parent = await serveTwo();
    const before = childrenOf(parent.pid);
    process.kill(before[0]!, 'SIGKILL');
    await until(() => childrenOf(parent.pid).some((pid) => !before.includes(pid)), { what: 'a new process' });
    parent.signal('SIGTERM');
    expect((await parent.exited).code).toBe(0);
  });

  it('again and again right after its start makes the parent give up', async () => {
    await database.query(`CREATE ROLE short_lived SUPERUSER LOGIN PASSWORD 'p'`);
    try {
      const url = new URL(database.url);
      Object.assign(url, { username: 'short_lived', password: 'p' });
      const parent = await serveTwo({ url: url.href });
      const children = childrenOf(parent.pid);
      await database.query('ALTER ROLE short_lived NOLOGIN');
      process.kill(children[0]!, 'SIGKILL');
      expect((await parent.exited).code).toBe(1);
      expect(parent.log()).toContainEqual(expect.objectContaining({ level: 'fatal' }));
      await ended(children);
    } finally {
      await database.query('DROP ROLE short_lived');
    }
  });
});

it('says once why none of them can start', async () => {
  const url = new URL(database.url);
  url.pathname = '/no-such-database';
  const parent = spawnMillrace({
    args: ['--processes=2', '--mode=worker', '--metrics-port=0', '--host=127.0.0.1', '--log-format=json'],
    env: { DATABASE_URL: url.href },
  });
  expect((await parent.exited).code).toBe(1);
  expect(parent.stderr()).toMatch(/^millrace: [^\n]*no-such-database[^\n]*\n$/);
});

describe('the rule of restarts', () => {
  it('replaces at once what had run for a while, whatever was before', () => {
    expect(afterCrash(SOON_MS, MAX_FAILURES - 1)).toEqual({ kind: 'restart', delayMs: 0, failures: 0 });
  });

  it('waits twice as long after each failed start, and then gives up', () => {
    const delays: number[] = [];
    let failures = 0;
    for (;;) {
      const decision = afterCrash(SOON_MS - 1, failures);
      if (decision.kind === 'give-up') break;
      delays.push(decision.delayMs);
      failures = decision.failures;
    }
    expect(delays).toHaveLength(MAX_FAILURES - 1);
    delays.slice(1).forEach((delay, index) => expect(delay).toBe(2 * delays[index]!));
  });
});

it('says on the metrics port which of several databases all processes can reach', async () => {
  const cells = await cloneCells(2);
  const parent = await serveTwo({ url: cells.cells.map(({ url }) => url).join(' ') });
  const up = ['cell1', 'cell2'].map((name) => ({ name, up: true }));
  expect(await readyOf(parent)).toEqual({ status: 'ready', cells: up });
  parent.signal('SIGTERM');
  expect((await parent.exited).code).toBe(0);
  await cells.drop();
});
