import { setTimeout as sleep } from 'node:timers/promises';
import { median } from '@millrace/tools-shared';
import { scoped, type Bench, type Case, type Scope } from '../bench.js';
import { cpuSeconds } from '../env/processes.js';
import { latencyOf } from '../latency.js';
import { post } from '../load/connection.js';
import { DurableCalls, type Held } from '../load/durable-calls.js';
import { BATCH, JOB, WORKER_TOKEN } from '../work.js';

const CHILDREN = 1_000;
const STEPS = 1_000;
const FAR = { delay_secs: 86_400 };
/** Sessions tell of what they have done ten seconds later, if they do nothing else. */
const SETTLE_MS = 12_000;

/**
 * Durable jobs and workflows that go on: what a checkpoint costs beside a heartbeat, how soon signals and children wake
 * their job, what ten thousand jobs cost that wait, and what resuming costs beside starting.
 */
export const durable: Case = async (bench) => ({
  round: async () => {
    await scoped(bench, async (scope) => {
      const server = await scope.millrace(await scope.database('millrace'), 'api');
      const calls = await DurableCalls.open(server.port);
      scope.onClose(async () => calls.close());
      await checkpoints(bench, calls);
      await signals(bench, calls, server.port);
      await children(bench, calls);
      await resumes(bench, calls);
    });
    await scoped(bench, idleWithWaits);
  },
});

/** They take turns: what slows the machine down slows both. */
async function checkpoints({ results, scale }: Bench, calls: DurableCalls): Promise<void> {
  const ms: Record<'heartbeat' | 'checkpoint', number[]> = { heartbeat: [], checkpoint: [] };
  for (let left = scale.latencySamples; left > 0; left -= BATCH) {
    const jobs = await started(calls, Math.min(left, BATCH));
    for (const [n, { id, token }] of jobs.entries()) {
      const progress = { lease_token: token, progress: { done: n } };
      const checkpoint = { lease_token: token, name: 'step', value: { done: n } };
      ms.heartbeat.push(await calls.timed(request(`jobs/${id}/heartbeat`, progress), 200));
      ms.checkpoint.push(await calls.timed(request(`jobs/${id}/checkpoints`, checkpoint), 201));
    }
    await calls.report(jobs, () => ({ outcome: 'completed' }));
  }
  results.record('durable-call.heartbeat', median(ms.heartbeat));
  results.record('durable-call.checkpoint', median(ms.checkpoint));
}

const request = (path: string, body: object): Buffer => post(`/api/v1/${path}`, WORKER_TOKEN, JSON.stringify(body));

/** From the signal to the answer to a worker that waits for work. */
async function signals({ results, scale }: Bench, calls: DurableCalls, port: number): Promise<void> {
  const worker = await DurableCalls.open(port);
  const [job] = await started(calls, 1);
  const ms: number[] = [];
  const samples = Math.ceil(scale.latencySamples / 5);
  for (let n = 0, held = job!; n < samples; n++) {
    const wait = { checkpoint: `wait ${n}`, ...FAR, wait: { signal: { name: 'go' } } };
    await calls.asWorker(`/api/v1/jobs/${held.id}/suspend`, { lease_token: held.token, ...wait }, 204);
    const woken = worker.next();
    await sleep(5 + Math.random() * 20);
    const sentAt = performance.now();
    await calls.asTenant(`/api/v1/jobs/${held.id}/signals/go`, { value: n }, 202);
    held = await woken;
    ms.push(performance.now() - sentAt);
    if (n + 1 === samples) await calls.report([held], () => ({ outcome: 'completed' }));
  }
  worker.close();
  const { p50, p99 } = latencyOf(ms);
  results.record('durable-wake-p50.signal', p50);
  results.record('durable-wake-p99.signal', p99);
}

/** From the answer to the report of the last child to that to the worker that gets the parent. */
async function children({ results }: Bench, calls: DurableCalls): Promise<void> {
  const [parent] = await started(calls, 1);
  const { id, token } = parent!;
  const names = Array.from({ length: CHILDREN }, (_, n) => `child ${n}`);
  const jobs = names.map((name) => ({ name, ...JOB }));
  await calls.asWorker(`/api/v1/jobs/${id}/children`, { lease_token: token, jobs }, 201);
  const wait = { checkpoint: 'all', ...FAR, wait: { children: names } };
  await calls.asWorker(`/api/v1/jobs/${id}/suspend`, { lease_token: token, ...wait }, 204);
  await calls.report(await calls.take(CHILDREN), () => ({ outcome: 'completed', result: { ok: true } }));
  const endedAt = performance.now();
  const held = await calls.next();
  results.record('durable-wake.children', performance.now() - endedAt);
  if (held.id !== id) throw new Error('somebody else than the parent was next');
  await calls.report([held], () => ({ outcome: 'completed' }));
}

/** A first step, and all others behind it, as far as their jobs being there: started, and again from the first. */
async function resumes({ results, scale }: Bench, calls: DurableCalls): Promise<void> {
  const rest = Array.from({ length: STEPS - 1 }, (_, n) => ({
    ...{ name: `step ${n}`, task_name: JOB.task_name, depends_on: ['first'] },
  }));
  const body = { name: 'wide', steps: [{ name: 'first', task_name: JOB.task_name }, ...rest] };
  const ms: Record<'start' | 'resume', number[]> = { start: [], resume: [] };
  for (let n = 0; n < (scale.form === 'full' ? 10 : 3); n++) {
    const first = async (begin: () => Promise<unknown>): Promise<number> => {
      const begunAt = performance.now();
      await begin();
      await calls.report([await calls.next()], () => ({ outcome: 'completed', result: { ok: true } }));
      return performance.now() - begunAt;
    };
    let id = '';
    const start = async (): Promise<void> => {
      ({ workflow_id: id } = await calls.asTenant<{ workflow_id: string }>('/api/v1/workflows', body, 201));
    };
    ms.start.push(await first(start));
    await calls.asTenant(`/api/v1/workflows/${id}/cancel`, {}, 204);
    const from = { steps: ['first'] };
    ms.resume.push(await first(() => calls.asTenant(`/api/v1/workflows/${id}/resume`, from, 202)));
    await calls.asTenant(`/api/v1/workflows/${id}/cancel`, {}, 204);
  }
  results.record('durable-steps.start', median(ms.start));
  results.record('durable-steps.resume', median(ms.resume));
}

interface Idle {
  readonly statements: number;
  readonly walBytes: number;
  readonly cpu: number;
}

/** A server with nothing to do; then the same with so many jobs that sleep, or wait for signals or children. */
async function idleWithWaits(scope: Scope): Promise<void> {
  const { results, scale } = scope.bench;
  const without = await idle(scope, 0);
  const beside = await idle(scope, scale.waiting);
  for (const [key, measured] of [
    ['without', without],
    ['beside', beside],
  ] as const) {
    results.record(`durable-idle-statements.${key}`, measured.statements);
    results.record(`durable-idle-wal.${key}`, measured.walBytes);
    results.record(`durable-idle-cpu.${key}`, measured.cpu);
  }
}

async function idle(scope: Scope, waiting: number): Promise<Idle> {
  const { postgres, scale } = scope.bench;
  const database = await scope.database('millrace');
  if (waiting > 0) {
    // One that runs no jobs itself: it would take them.
    const server = await scope.millrace(database, 'api');
    await suspend(server.port, waiting);
    await server.stop();
  }
  await postgres.settle(database);
  const server = await scope.millrace(database, 'all');
  await sleep(SETTLE_MS);
  const before = {
    n: await postgres.transactions(database),
    wal: await postgres.walPosition(),
    cpu: cpuSeconds(server.pid),
  };
  await sleep(scale.idleSecs * 1000);
  const cpu = cpuSeconds(server.pid) - before.cpu;
  const { bytes, fullPageBytes } = await postgres.walSince(before.wal);
  const statements = (await postgres.transactions(database)) - before.n;
  await server.stop();
  const { idleSecs } = scale;
  return {
    statements: statements / idleSecs,
    walBytes: (bytes - fullPageBytes) / idleSecs,
    cpu: (cpu / idleSecs) * 100,
  };
}

async function suspend(port: number, count: number): Promise<void> {
  const calls = await DurableCalls.open(port);
  const kinds = [{}, { wait: { signal: { name: 'go' } } }, { wait: { children: ['child'] } }] as const;
  for (let left = count; left > 0; left -= BATCH) {
    const jobs = await started(calls, Math.min(left, BATCH));
    for (const { id, token } of jobs.filter((_, n) => n % 3 === 2)) {
      const child = { name: 'child', ...JOB, ...FAR };
      await calls.asWorker(`/api/v1/jobs/${id}/children`, { lease_token: token, jobs: [child] }, 201);
    }
    await calls.report(jobs, (n) => ({ outcome: 'suspended', checkpoint: 'wait', ...FAR, ...kinds[n % 3] }));
  }
  calls.close();
}

/** So many jobs, and leases of them. */
async function started(calls: DurableCalls, count: number): Promise<Held[]> {
  await calls.asTenant('/api/v1/jobs/batch', { jobs: Array.from({ length: count }, () => JOB) }, 201);
  const held = await calls.take(count);
  if (held.length !== count) throw new Error(`${held.length} of ${count} jobs were leased`);
  return held;
}
