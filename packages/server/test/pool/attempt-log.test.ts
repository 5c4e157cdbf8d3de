import { afterAll, describe, expect, it } from 'vitest';
import { Hub } from '../../src/engine/shared/hub.js';
import { createAttemptLog, type AttemptLog, type LoggedAttempt } from '../../src/pool/attempt-log.js';
import { LineBudget } from '../../src/telemetry/line-budget.js';
import { createLogger } from '../../src/telemetry/logger.js';
import { startTestServer } from '../support/server.js';
import { until } from '../support/until.js';
import { createJob, fail, leaseOne, newQueue, waitFor } from '../engine/kit.js';

describe('the log of what fails', async () => {
  const explode = (): never => {
    throw new RangeError('it broke');
  };
  const server = await startTestServer({ handlers: { explode } });
  const { a, worker } = server;
  afterAll(() => server.stop());
  const linesOf = (jobId: string): Record<string, unknown>[] => server.log().filter((line) => line.job_id === jobId);

  it('has a line for an attempt of a handler, with its stack, one for its retry, and one for its dead letter', async () => {
    const config = { max_retries: 1, retry_delay_secs: 0 };
    const { job_id: id } = (await a.post('/api/v1/jobs', { task_name: 'explode', config })).body as { job_id: string };
    await waitFor(a, id, 'failed');
    await until(() => linesOf(id).length >= 4, { what: 'the line about the dead letter' });
    const about = { task: 'explode', queue: 'default', job_id: id };
    const err = { type: 'RangeError', message: 'it broke', stack: expect.stringContaining('attempt-log.test') };
    // The second attempt may begin before this process has heard that the retry is stored.
    const lines = linesOf(id).toSorted((one, two) => Number(one.attempt) - Number(two.attempt));
    expect(lines).toEqual([
      expect.objectContaining({ level: 'warn', ...about, attempt: 1, err }),
      expect.objectContaining({ level: 'info', ...about, attempt: 1 }),
      expect.objectContaining({ level: 'warn', ...about, attempt: 2, err }),
      expect.objectContaining({ level: 'error', ...about, attempt: 2, reason: 'max_attempts_exceeded' }),
    ]);
  });

  it('has one line for the dead letter of a job that has no handler', async () => {
    const { job_id: id } = (await a.post('/api/v1/jobs', { task_name: 'nobody' })).body as { job_id: string };
    await waitFor(a, id, 'failed');
    await until(() => linesOf(id).length > 0, { what: 'the line about the dead letter' });
    expect(linesOf(id)).toMatchObject([{ level: 'error', task: 'nobody', reason: 'handler_not_found' }]);
  });

  it('has one line for a dead letter of a remote worker, and none for its attempts', async () => {
    const queue = newQueue();
    const id = await createJob(a, queue, { config: { max_retries: 1, retry_delay_secs: 0 } });
    await fail(worker, await leaseOne(worker, queue));
    await fail(worker, await leaseOne(worker, queue), { error: 'no such card' });
    expect(linesOf(id)).toEqual([
      expect.objectContaining({
        level: 'error',
        task: 'task',
        queue,
        tenant: 'tenant-a',
        reason: 'max_attempts_exceeded',
        error: 'no such card',
      }),
    ]);
  });

  it('has one line for a dead letter of a step', async () => {
    const queue = newQueue();
    const steps = [{ name: 'one', task_name: 'explode', config: { max_retries: 0 } }];
    const { workflow_id } = (await a.post('/api/v1/workflows', { name: queue, steps })).body;
    const dead = (): Record<string, unknown>[] => server.log().filter((line) => line.level === 'error');
    const jobId = async (): Promise<string> =>
      (await a.get(`/api/v1/workflows/${workflow_id}/steps`)).body.steps[0].job_id as string;
    const id = await jobId();
    await until(() => dead().some((line) => line.job_id === id), { what: 'the line about the dead letter' });
    expect(linesOf(id).filter(({ level }) => level === 'error')).toHaveLength(1);
  });

  function ownLog(hub: Hub): { log: AttemptLog; lines: Record<string, unknown>[] } {
    const lines: Record<string, unknown>[] = [];
    const write = (line: string): void => void lines.push(JSON.parse(line) as Record<string, unknown>);
    const logger = createLogger({ level: 'info', format: 'json', destination: { write } });
    return { log: createAttemptLog(logger, hub), lines };
  }

  it('has one line for a dead letter, also if an earlier attempt that had lost its lease ends here', () => {
    const hub = new Hub();
    const { log, lines } = ownLog(hub);
    const dead = (): unknown[] => lines.filter(({ level }) => level === 'error').map(({ attempt }) => attempt);
    const nth = (attempt: number): LoggedAttempt => ({ task: 't', queue: 'q', jobId: 'j', attempt });
    const news = { id: 'j', tenant: 'a', outcome: 'failed', task: 't', queue: 'q', runSecs: null } as const;
    const fail = (): void => hub.announceSettled({ ...news, reason: 'non_retryable', error: 'x' });
    log.failed({ ...nth(1), error: new Error('late') });
    log.failed({ ...nth(2), error: new Error('x') });
    log.unsettled(nth(1));
    fail();
    log.deadLettered({ ...nth(2), reason: 'non_retryable', error: 'x' });
    expect(dead()).toEqual([2]);
    // Nothing of it is left: whoever else ends the job, such as the janitor, is heard.
    log.failed({ ...nth(3), error: new Error('late') });
    log.unsettled(nth(3));
    fail();
    expect(dead()).toEqual([2, undefined]);
  });

  it('is bounded, and says how much it left out', () => {
    const { log, lines } = ownLog(new Hub());
    const attempt = { task: 't', queue: 'q', jobId: 'j', attempt: 1 };
    for (let n = 0; n < 1000; n++) log.failed({ ...attempt, error: new Error('x'.repeat(100_000)) });
    expect(lines.length).toBeLessThan(50);
    expect(JSON.stringify(lines[0]).length).toBeLessThan(20_000);
    // The other kinds have lines of their own.
    log.retrying({ ...attempt, delaySecs: 1 });
    log.deadLettered({ ...attempt, reason: 'non_retryable', error: 'x' });
    expect(lines.slice(-2).map(({ level }) => level)).toEqual(['info', 'error']);
  });

  it('lets lines through again after a while, and tells the number of the others once', () => {
    let now = 0;
    const told: number[] = [];
    const budget = new LineBudget(
      (n) => told.push(n),
      () => now,
    );
    const taken = (tries: number): number => Array.from({ length: tries }, () => budget.take()).filter(Boolean).length;
    const first = taken(100);
    expect(first).toBeLessThan(100);
    expect(taken(1)).toBe(0);
    now += 1_000;
    expect(taken(100)).toBeGreaterThan(0);
    expect(taken(100)).toBe(0);
    budget.tell();
    budget.tell();
    expect(told).toHaveLength(1);
    expect(told[0]).toBeGreaterThan(100);
  });
});
