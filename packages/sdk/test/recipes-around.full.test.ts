import { readFileSync } from 'node:fs';
import { mkdir, symlink } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Millrace, silentLogger, task, type } from '@millrace/sdk';
import { validate } from 'dockerfile-utils';
import type { Express } from 'express';
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { parse } from 'yaml';
import { freePort } from '../../server/test/support/free-port.js';
import { KEY_A, useTestServer, WORKER_TOKEN } from '../../server/test/support/server.js';
import { until } from '../../server/test/support/until.js';
import { blocksOf, compile, programFolder, runProgram, writeBlocks } from './support/programs.js';
import { node } from './support/tarballs.js';

const BLOCKS = blocksOf(readFileSync(new URL('../../../docs/recipes.md', import.meta.url), 'utf8'));
const TSC = fileURLToPath(new URL('../../../node_modules/typescript/bin/tsc', import.meta.url));
const server = await useTestServer({ config: { mode: 'api' } });
const millrace = new Millrace({ url: server.url, token: KEY_A, logger: silentLogger });
const env = { MILLRACE_URL: server.url, MILLRACE_WORKER_TOKEN: WORKER_TOKEN, MILLRACE_TOKEN: KEY_A };
const sendReceipt = task({ name: 'send_receipt', queue: 'emails', input: type<{ orderId: number }>() });

const textOf = (name: string): string => BLOCKS.find((block) => block.name === name)!.code;

/** A folder with these programs of the page, compiled. */
async function programs(...names: string[]): Promise<string> {
  const folder = await programFolder();
  const wanted = BLOCKS.filter(({ name }) => ['tasks.ts', 'millrace.ts', ...names].includes(name));
  await writeBlocks(folder, wanted);
  const files = wanted.map(({ name }) => join(folder, name));
  expect(compile(files, folder)).toEqual([]);
  return folder;
}

async function openStreams(): Promise<number> {
  const text = await (await fetch(`${server.metricsUrl}/metrics`)).text();
  return Number(/^millrace_event_streams\S* (\d+)$/m.exec(text)![1]);
}

describe('progress in a browser', () => {
  let url: string;
  const errors: unknown[] = [];

  beforeEach(async () => {
    vi.stubEnv('MILLRACE_URL', server.url);
    vi.stubEnv('MILLRACE_TOKEN', KEY_A);
    const { app } = (await import(join(await programs('progress.ts'), 'progress.js'))) as { app: Express };
    errors.length = 0;
    app.use((error: unknown, _request: unknown, _response: unknown, next: (error: unknown) => void) => {
      errors.push(error);
      next(error);
    });
    const listening = app.listen(0);
    onTestFinished(() => void listening.close());
    url = `http://127.0.0.1:${(listening.address() as AddressInfo).port}`;
  });

  it('follows a job to its end', async () => {
    const job = await millrace.enqueue(sendReceipt, { orderId: 1 });
    const stream = await fetch(`${url}/jobs/${job.id}/progress`);
    await job.cancel();
    const events = (await stream.text()).split('\n\n').filter((text) => text !== '');
    expect(events[0]).toBe('data: {"status":"pending","progress":null}');
    expect(events.slice(-2)).toEqual(['data: {"status":"cancelled","progress":null}', 'event: end\ndata:']);
    expect((await fetch(`${url}/jobs/00000000-0000-7000-8000-000000000000/progress`)).status).toBe(404);
    expect(errors).toEqual([]);
  });

  it('ends quietly when the browser leaves', async () => {
    const job = await millrace.enqueue(sendReceipt, { orderId: 2 });
    const leaving = new AbortController();
    const stream = await fetch(`${url}/jobs/${job.id}/progress`, { signal: leaving.signal });
    await stream.body!.getReader().read();
    expect(await openStreams()).toBe(1);
    leaving.abort();
    await until(async () => (await openStreams()) === 0);
    expect(errors).toEqual([]);
    await job.cancel();
  });
});

describe('a worker in a container', () => {
  it('answers probes, and ends with the signal', async () => {
    const port = String(await freePort());
    const folder = await programs('container-worker.ts');
    const worker = runProgram(join(folder, 'container-worker.js'), { ...env, PROBE_PORT: port });
    const probe = (path: string): Promise<number> =>
      fetch(`http://127.0.0.1:${port}${path}`).then(
        (answer) => answer.status,
        () => 0,
      );
    await until(async () => (await probe('/ready')) === 200);
    expect(await probe('/live')).toBe(200);
    const job = await millrace.enqueue(sendReceipt, { orderId: 3 });
    expect(await job.result()).toEqual({ messageId: 'from-a-container-3' });
    worker.child.kill('SIGTERM');
    expect(await worker.ended).toBe(0);
  });

  it('has a Dockerfile without faults, and time to finish', () => {
    const dockerfile = textOf('Dockerfile');
    expect(validate(dockerfile)).toEqual([]);
    expect(dockerfile).toContain('CMD ["node", "dist/container-worker.js"]');
    const { spec } = (parse(textOf('worker.yaml')) as { spec: { template: { spec: Record<string, any> } } }).spec
      .template;
    const shutdown = Number(/shutdown: '(\d+)s'/.exec(textOf('container-worker.ts'))![1]);
    expect(spec.terminationGracePeriodSeconds).toBe(shutdown + 10);
    const [container] = spec.containers;
    const port = Number(/PROBE_PORT \?\? (\d+)/.exec(textOf('container-worker.ts'))![1]);
    expect(container.livenessProbe.httpGet).toEqual({ path: '/live', port });
    expect(container.readinessProbe.httpGet).toEqual({ path: '/ready', port });
    expect(container.env.map((each: { name: string }) => each.name)).toEqual(['MILLRACE_URL', 'MILLRACE_WORKER_TOKEN']);
  });
});

it('logs go to a collector as JSON, and to the job', async () => {
  const worker = runProgram(join(await programs('logs.ts'), 'logs.js'), env);
  const job = await millrace.enqueue(sendReceipt, { orderId: 4 });
  expect(await job.result()).toEqual({ messageId: 'logged-4' });
  const [line] = await worker.said(/^.*"msg":"sending".*$/m);
  expect(JSON.parse(line)).toMatchObject({ service: 'receipts', msg: 'sending', orderId: 4 });
  expect((await millrace.jobs.logs(job.id)).lines).toMatchObject([
    { level: 'info', message: 'sending', fields: { orderId: 4 } },
  ]);
  worker.child.kill('SIGTERM');
  expect(await worker.ended).toBe(0);
});

it('tests run in CI', async () => {
  const folder = await programs('receipts.test.ts', 'receipts.e2e.test.ts');
  const files = ['receipts.test.js', 'receipts.e2e.test.js'].map((name) => join(folder, name));
  const { stdout } = await node(
    ['--test', '--test-reporter=tap', ...files],
    fileURLToPath(new URL('..', import.meta.url)),
  );
  expect(stdout).toMatch(/^# pass 2$/m);
  const workflow = parse(textOf('.github/workflows/test.yml')) as { jobs: { test: { steps: { run?: string }[] } } };
  const runs = workflow.jobs.test.steps.flatMap(({ run }) => run ?? []);
  expect(runs).toEqual(['npm ci', 'npx tsc', 'node --test']);
});

it('a monorepo shares its tasks', async () => {
  const folder = await programFolder();
  await writeBlocks(
    folder,
    BLOCKS.filter(({ name }) => /^(package\.json$|apps\/|packages\/)/.test(name)),
  );
  // As npm links workspaces.
  await mkdir(join(folder, 'node_modules/@shop'), { recursive: true });
  await symlink(join(folder, 'packages/tasks'), join(folder, 'node_modules/@shop/tasks'));
  await node([TSC, '-b', 'apps/worker'], folder);
  const worker = runProgram(join(folder, 'apps/worker/dist/main.js'), env);
  const { greet } = await import(join(folder, 'packages/tasks/dist/index.js'));
  expect(await (await millrace.enqueue(greet, { name: 'Ada' })).result()).toEqual({ text: 'Hello Ada' });
  worker.child.kill('SIGTERM');
  expect(await worker.ended).toBe(0);
});
