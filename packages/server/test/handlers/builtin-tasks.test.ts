import { describe, expect, it, onTestFinished } from 'vitest';
import { startTestServer, type TestServer, type TestServerOptions } from '../support/server.js';
import { until } from '../support/until.js';

async function start(options: TestServerOptions): Promise<TestServer> {
  const server = await startTestServer(options);
  onTestFinished(() => server.stop());
  return server;
}

const end = async ({ a }: TestServer, task: string): Promise<{ status: string; error_message: string | null }> => {
  const { job_id: id } = (await a.post('/api/v1/jobs', { task_name: task })).body;
  let job: { status: string; error_message: string | null } | undefined;
  await until(async () => {
    job = (await a.get(`/api/v1/jobs/${id}`)).body;
    return job!.status !== 'pending' && job!.status !== 'running';
  });
  return job!;
};

const warnings = (server: TestServer): unknown[] =>
  server.log().filter(({ level, msg }) => level === 'warn' && String(msg).startsWith('no handler is registered'));

describe('the built-in tasks', () => {
  it('can be switched off, and handlers of the program stay', async () => {
    const server = await start({ config: { builtinTasks: [] }, handlers: { mine: () => ({ ok: true }) } });
    expect((await server.a.get('/api/v1/tasks')).body).toEqual({ tasks: ['mine'] });
    expect((await end(server, 'mine')).status).toBe('completed');
    const refused = await end(server, 'sleep');
    expect(refused).toMatchObject({ status: 'failed', error_message: expect.stringContaining('no handler') });
  });

  it('can be chosen, and are replaced by handlers of the same name', async () => {
    const server = await start({
      config: { builtinTasks: ['echo', 'log'] },
      handlers: { log: () => ({ mine: true }) },
    });
    expect((await server.a.get('/api/v1/tasks')).body).toEqual({ tasks: ['echo', 'log'] });
    expect((await end(server, 'echo')).status).toBe('completed');
    expect(await end(server, 'log')).toMatchObject({ result: { mine: true } });
  });
});

it('a task without a handler is warned about once, however many jobs name it', async () => {
  const server = await start({});
  for (let n = 0; n < 5; n++) expect((await end(server, 'unheard of')).status).toBe('failed');
  await end(server, 'another');
  expect(warnings(server)).toEqual([
    expect.objectContaining({ task: 'unheard of', queue: 'default' }),
    expect.objectContaining({ task: 'another', queue: 'default' }),
  ]);
});

describe('the metrics port', () => {
  it.each(['all', 'api', 'worker'] as const)('answers the probes in mode %s', async (mode) => {
    const { metricsUrl } = await start({ config: { mode } });
    const health = await fetch(`${metricsUrl}/health`);
    expect([health.status, await health.json()]).toEqual([
      200,
      { status: 'healthy', timestamp: expect.any(String), version: expect.stringMatching(/^\d/) },
    ]);
    // It is not where the database takes its time: wherever this machine is held up.
    const ready = await until(async () => [await fetch(`${metricsUrl}/ready`)].find(({ status }) => status === 200));
    expect(await ready.json()).toEqual({ status: 'ready' });
    expect((await fetch(`${metricsUrl}/ready`, { method: 'POST' })).status).toBe(404);
  });

  it('is not ready on a schema that is not current', async () => {
    const { metricsUrl, database } = await start({});
    await database.query('ALTER SCHEMA millrace RENAME TO elsewhere');
    onTestFinished(() => database.query('ALTER SCHEMA elsewhere RENAME TO millrace').then(() => undefined));
    const ready = await fetch(`${metricsUrl}/ready`);
    expect([ready.status, ready.headers.get('retry-after')]).toEqual([503, '2']);
    expect(await ready.json()).toMatchObject({ code: 'unavailable' });
    expect((await fetch(`${metricsUrl}/health`)).status).toBe(200);
  });
});
