import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Millrace, silentLogger, task, type Job } from '@millrace/sdk';
import { describe, expect, it, onTestFinished } from 'vitest';
import { expireAll } from '../../../server/test/engine/kit.js';
import { KEY_A, useTestServer, WORKER_TOKEN } from '../../../server/test/support/server.js';
import { until } from '../support/worker-kit.js';

const WORKER = fileURLToPath(new URL('../support/refund-worker.mjs', import.meta.url));
/** More processes than lines that change anything. */
const MOST_LIVES = 20;

interface Effect {
  readonly step: string;
  readonly idempotencyKey?: string;
}

/** A real process of the SDK's worker for each line: it dies at the line's call, and another one goes on. */
describe('the refund, whose worker is killed at every line', async () => {
  const server = await useTestServer({ config: { mode: 'api' }, intervals: { sweepMs: 50 } });
  const millrace = new Millrace({ url: server.url, token: KEY_A, logger: silentLogger });

  /** A worker from its start to its death; one that is told never to die is killed once the job has moved. */
  async function life(queue: string, effects: string, dies: string, hasMoved: () => Promise<boolean>): Promise<void> {
    const env = { PATH: process.env.PATH, MILLRACE_URL: server.url, MILLRACE_WORKER_TOKEN: WORKER_TOKEN };
    const child = spawn(process.execPath, [WORKER], {
      env: { ...env, QUEUE: queue, EFFECTS: effects, DIES: dies },
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    const died = new Promise<NodeJS.Signals | null>((resolve) => child.once('exit', (_, signal) => resolve(signal)));
    onTestFinished(() => void child.kill('SIGKILL'));
    if (dies === 'never') {
      await until(hasMoved);
      child.kill('SIGKILL');
    }
    expect(await died).toBe('SIGKILL');
  }

  async function run(dies: 'before' | 'after', answer: object | null): Promise<{ job: Job; effects: Effect[] }> {
    const folder = mkdtempSync(join(tmpdir(), 'millrace-refund-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const [queue, effects] = [`refund-${randomUUID()}`, join(folder, 'effects')];
    writeFileSync(effects, '');
    const refund = task({ name: 'refund', queue, retries: { max: 50, delay: '0s', jitter: 0 } });
    const { id } = await millrace.enqueue(refund, { order: 'order-7', cents: 12_000 });
    const hasEnded = async (): Promise<boolean> =>
      ['completed', 'failed'].includes((await millrace.jobs.get(id)).status);
    for (let lives = 0; !(await hasEnded()); lives++) {
      expect(lives).toBeLessThan(MOST_LIVES);
      const { waitingFor, deliveryCount } = await prepared(id, answer);
      const hasChild = waitingFor !== null;
      // Before a call is sent nothing is stored, so every second worker is let live: it takes the job one line further.
      const spared = dies === 'before' && lives % 2 === 1;
      const moved = async (): Promise<boolean> => {
        const now = await millrace.jobs.get(id);
        const waits = now.waitingFor !== null;
        return (await hasEnded()) || (hasChild ? !waits : waits && now.deliveryCount > deliveryCount);
      };
      await life(queue, effects, spared ? 'never' : dies, moved);
    }
    const lines = readFileSync(effects, 'utf8').trimEnd().split('\n');
    return { job: await millrace.jobs.get(id), effects: lines.map((line) => JSON.parse(line) as Effect) };
  }

  /**
   * The job as the next worker finds it: with no lease of a dead one, and due, with what it has waited for; or, if that
   * is its child, that one is due.
   */
  async function prepared(id: string, answer: object | null): Promise<Job> {
    const { waitingFor } = await millrace.jobs.get(id);
    if (waitingFor?.signal === 'approval') await millrace.signals.sendToJob(id, 'approval', answer);
    else if (waitingFor?.children === null) await millrace.jobs.runNow(id);
    await expireAll(server.database, 'leases', 'true');
    return until(async () => {
      const [{ held } = { held: 0 }] = await server.database.query<{ held: number }>(
        'SELECT count(*)::int AS held FROM millrace.leases',
      );
      const job = await millrace.jobs.get(id);
      const isDue = held === 0 && job.waitingFor?.children !== null;
      return isDue ? job : `it is ${job.status}, ${held} are held`;
    });
  }

  it('ends with each step run once', async () => {
    const { job, effects } = await run('after', { approved: true });
    expect(job).toMatchObject({ status: 'completed', result: { message: 'mail-order-7' } });
    expect(effects.map(({ step }) => step)).toEqual(['find charge', 'refund', 'mail']);
    const stored = await millrace.jobs.checkpoints(job.id);
    expect(stored.map(({ name }) => name)).toEqual(['find charge', 'approval', 'refund', 'grace', 'mail']);
    // One for each line that changes anything: find, wait, refund, sleep, its end, the child, its wait, and the result;
    // and more if a dying worker was given the job that its last report had woken.
    expect(job.deliveryCount).toBeGreaterThanOrEqual(8);
  });

  it('ends well too if results are lost on their way: others see one key', async () => {
    const { job, effects } = await run('before', { approved: true });
    expect(job).toMatchObject({ status: 'completed', result: { message: 'mail-order-7' } });
    const refunds = effects.filter(({ step }) => step === 'refund');
    expect(refunds.length).toBeGreaterThan(0);
    expect(new Set(refunds.map(({ idempotencyKey }) => idempotencyKey))).toEqual(new Set([`${job.id}:refund`]));
  });

  it('is refused for good if the answer is no, and refunds nothing', async () => {
    const { job, effects } = await run('after', { approved: false });
    expect(job).toMatchObject({ status: 'failed', errorMessage: 'refused' });
    expect(effects.map(({ step }) => step)).toEqual(['find charge']);
  });
});
