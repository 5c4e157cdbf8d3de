import { setTimeout as delay } from 'node:timers/promises';
import type { Random } from '@millrace/tools-shared';
import { ApiError, type Api } from './api.js';
import { taskOf, WORKED_QUEUES, type Fate } from './tasks.js';

interface Leased {
  readonly lease_token: string;
  readonly job: { readonly id: string; readonly task_name: string };
}

interface WorkerOptions {
  readonly api: Api;
  readonly queue: string;
  readonly name: string;
  readonly slots: number;
  readonly random: Random;
  readonly signal: AbortSignal;
  /** Makes every attempt take this many times as long. */
  readonly pace: number;
}

const LEASE_SECS = 20;
const WAIT_SECS = 10;
const BEAT_MS = 1500;
/** How often an attempt is forgotten, as by a worker that was killed: its lease expires. */
const CRASHES = 0.004;
/** An outage of 40 seconds every six minutes: something to find in the plots, and in the dead letters. */
const OUTAGE = { every: 360_000, lasts: 40_000 };

export const isOutage = (now: number): boolean => now % OUTAGE.every < OUTAGE.lasts;

/** How many workers each queue has, and how many jobs each of them runs at a time. */
const CREW: Readonly<Record<(typeof WORKED_QUEUES)[number], readonly [workers: number, slots: number]>> = {
  mail: [2, 4],
  payments: [2, 3],
  images: [1, 3],
  webhooks: [1, 4],
  reports: [1, 1],
};

/** Runs all workers until `signal` is aborted. */
export async function runWorkers(api: Api, random: Random, signal: AbortSignal, pace = 1): Promise<void> {
  const workers = WORKED_QUEUES.flatMap((queue) => {
    const [count, slots] = CREW[queue];
    return Array.from({ length: count }, (_, index) => {
      const own = random.fork(`${queue} ${index}`);
      return work({ api, queue, name: `${queue}-${own.word(4)}`, slots, random: own, signal, pace });
    });
  });
  await Promise.all(workers);
}

async function work(options: WorkerOptions): Promise<void> {
  const { api, queue, name, slots, signal } = options;
  let busy = 0;
  let slotFree: () => void = () => undefined;
  while (!signal.aborted) {
    if (busy >= slots) await new Promise<void>((resolve) => (slotFree = resolve));
    const request = { max_jobs: slots - busy, lease_secs: LEASE_SECS, wait_secs: WAIT_SECS, worker_id: name, slots };
    const path = `/queues/${queue}/lease`;
    const { jobs } = await api.call<{ jobs: Leased[] }>('POST', path, JSON.stringify(request));
    for (const job of jobs) {
      busy++;
      void attempt(job, options)
        .catch(ignoreLost)
        .finally(() => {
          busy--;
          slotFree();
        });
    }
  }
}

/** A report that comes too late, or a stop in the middle of an attempt, is part of the play. */
function ignoreLost(error: unknown): void {
  if (error instanceof ApiError || (error instanceof Error && error.name === 'AbortError')) return;
  throw error;
}

async function attempt({ job, lease_token }: Leased, options: WorkerOptions): Promise<void> {
  const { api, random, signal, pace } = options;
  const task = taskOf(job.task_name);
  const [least, most] = task?.takes ?? [50, 200];
  const total = random.integer(least, most) * pace;
  if (random.chance(CRASHES)) return;
  const fate = task?.fate(random, isOutage(Date.now())) ?? { kind: 'completed', result: '{}' };
  for (let done = 0; done < total; done += BEAT_MS) {
    await delay(Math.min(BEAT_MS, total - done), undefined, { signal });
    if (task?.progress !== true || done + BEAT_MS >= total) continue;
    const progress = { percent: Math.round((100 * (done + BEAT_MS)) / total) };
    const beat = JSON.stringify({ lease_token, extend_secs: LEASE_SECS, progress });
    const { status } = await api.call<{ status: string }>('POST', `/jobs/${job.id}/heartbeat`, beat);
    if (status !== 'running') return;
  }
  await report(api, job, lease_token, fate);
}

async function report(api: Api, job: Leased['job'], token: string, fate: Fate): Promise<void> {
  if (fate.kind === 'completed') {
    await api.call('POST', `/jobs/${job.id}/complete`, `{"lease_token":"${token}","result":${fate.result}}`);
    return;
  }
  const details = { name: fate.name, stack: stackOf(fate, job.task_name) };
  const body = { lease_token: token, error: fate.error, retryable: fate.retryable, details };
  await api.call('POST', `/jobs/${job.id}/fail`, JSON.stringify(body));
}

const stackOf = ({ name, error }: Fate & { kind: 'failed' }, task: string): string =>
  [
    `${name}: ${error}`,
    `    at ${task} (/app/dist/tasks/${task}.js:48:11)`,
    '    at async Attempt.run (/app/node_modules/@millrace/sdk/dist/worker/attempt.js:71:24)',
    '    at async JobRunner.execute (/app/node_modules/@millrace/sdk/dist/worker/job-runner.js:112:7)',
  ].join('\n');
