import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, test } from 'vitest';
import { until } from '../support/until.js';
import { canRun, startWorker, WORKER_NAMES, type Finally } from './workers.js';

/** The example workers against a service that fails on cue, in the ways a real one fails only in bad moments. */
const ID = '019bd0e5-7c58-7a5f-9c0e-2f9f6a0f8f10';
const TOKEN = '5f0c1a52-6f4b-4b5e-9d6c-0b7f3d1d2a10';

type Answer = readonly [status: number, body?: unknown] | 'hang up';
type Operation = 'lease' | 'heartbeat' | 'complete' | 'fail';
type Script = Partial<Record<Operation, readonly Answer[]>>;

interface Call {
  readonly operation: Operation;
  readonly body: Record<string, unknown>;
}

const leased = (task: string, payload: object): Answer => [
  200,
  { jobs: [{ job: { id: ID, task_name: task, payload }, lease_token: TOKEN }] },
];

/** Gives the scripted answers in order; after that, leases come back empty and everything else succeeds. */
async function scripted(script: Script, finallyDo: Finally): Promise<{ url: string; calls: Call[] }> {
  const calls: Call[] = [];
  const server = createServer((request, response) => {
    const answerTo = (text: string): void => {
      const operation = (request.url ?? '').split('/').at(-1) as Operation;
      const nth = calls.filter((call) => call.operation === operation).length;
      calls.push({ operation, body: JSON.parse(text) as Record<string, unknown> });
      const answer = script[operation]?.[nth] ?? AFTERWARDS[operation];
      if (answer === 'hang up') return void request.socket.destroy();
      const [status, body] = answer;
      response.writeHead(status, { 'content-type': 'application/json', ...(status === 503 && { 'retry-after': '1' }) });
      response.end(body === undefined ? undefined : JSON.stringify(body));
    };
    // A worker that is killed at the end of its test may be in the middle of a request.
    readBody(request).then(answerTo, () => undefined);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  finallyDo(() => {
    server.close();
    server.closeAllConnections();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, calls };
}

const AFTERWARDS: Readonly<Record<Operation, Answer>> = {
  lease: [200, { jobs: [] }],
  heartbeat: [200, { status: 'running' }],
  complete: [204],
  fail: [204],
};

async function readBody(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of request.setEncoding('utf8')) text += chunk as string;
  return text;
}

const isNoHeartbeat = ({ operation }: Call): boolean => operation !== 'heartbeat';

describe.concurrent.each(WORKER_NAMES)('%s', (name) => {
  const it = test.runIf(canRun(name));

  /** Runs the worker through the script until it asks for another job; returns its requests in between. */
  async function callsOn(script: Script, finallyDo: Finally, leaseSecs = 3_600): Promise<readonly Call[]> {
    const { url, calls } = await scripted(script, finallyDo);
    startWorker(name, { url, queue: 'q', leaseSecs }, finallyDo);
    const leases = (script.lease?.length ?? 0) + 1;
    await until(() => calls.filter(({ operation }) => operation === 'lease').length >= leases, {
      what: 'the worker to ask for more',
    });
    return calls.filter(({ operation }) => operation !== 'lease');
  }

  it('repeats a report that got 503 or no answer, byte for byte', async ({ onTestFinished }) => {
    const calls = await callsOn(
      { lease: [leased('greet', { name: 'Ada' })], complete: [[503, {}], 'hang up'] },
      onTestFinished,
    );
    const report = { operation: 'complete', body: { lease_token: TOKEN, result: { greeting: 'Hello, Ada' } } };
    expect(calls).toEqual([report, report, report]);
  });

  it('asks again when a lease got 503 or no answer', async ({ onTestFinished }) => {
    const calls = await callsOn({ lease: [[503, {}], 'hang up', leased('greet', { name: 'Ada' })] }, onTestFinished);
    expect(calls).toEqual([expect.objectContaining({ operation: 'complete' })]);
  });

  it('does not give up a job because a heartbeat got no answer', async ({ onTestFinished }) => {
    const calls = await callsOn(
      { lease: [leased('wait', { seconds: 3 })], heartbeat: [[503, {}], 'hang up'] },
      onTestFinished,
      2,
    );
    // A heartbeat that was on its way may arrive after the report.
    const [reports, heartbeats] = [calls.filter(isNoHeartbeat), calls.filter((call) => !isNoHeartbeat(call))];
    expect(reports).toEqual([{ operation: 'complete', body: { lease_token: TOKEN, result: { waited: 3 } } }]);
    expect(heartbeats.length).toBeGreaterThan(0);
  });

  it.for([
    ['409', [409, { code: 'lease_lost' }]],
    ['404', [404, { code: 'not_found' }]],
    ['a job that has ended', [200, { status: 'failed' }]],
  ] as const)('stops, and reports nothing, if a heartbeat gets %s', async ([, answer], { onTestFinished }) => {
    const calls = await callsOn({ lease: [leased('wait', { seconds: 600 })], heartbeat: [answer] }, onTestFinished, 2);
    expect(calls).toEqual([{ operation: 'heartbeat', body: { lease_token: TOKEN, extend_secs: 2 } }]);
  });

  it('drops a job whose report gets 409', async ({ onTestFinished }) => {
    const calls = await callsOn({ lease: [leased('greet', { name: 'Ada' })], complete: [[409, {}]] }, onTestFinished);
    expect(calls).toHaveLength(1);
  });

  it('fails a job whose result the service refuses', async ({ onTestFinished }) => {
    const calls = await callsOn({ lease: [leased('greet', { name: 'Ada' })], complete: [[413, {}]] }, onTestFinished);
    expect(calls.at(-1)).toMatchObject({ operation: 'fail', body: { lease_token: TOKEN, retryable: false } });
  });

  it.for([400, 401, 403])('exits if a lease is refused with %i', async (status, { onTestFinished }) => {
    const { url, calls } = await scripted({ lease: [[status, {}]] }, onTestFinished);
    const worker = startWorker(name, { url, queue: 'q' }, onTestFinished);
    expect(await worker.exited).toBe(1);
    // Its output may arrive after its exit.
    await until(() => worker.stderr().includes(`the server refuses to lease: ${status}`), { what: 'its last words' });
    expect(calls).toHaveLength(1);
  });
});
