import { describe, expect, it } from 'vitest';
import { createJob, createJobs, lease, newQueue, type Leased } from '../../../server/test/engine/kit.js';
import { KEY_A, KEY_B, useTestServer } from '../../../server/test/support/server.js';
import { until } from '../../../server/test/support/until.js';
import { newCli, type Cli, type CallOptions, type Outcome } from '../support/cli.js';

const server = await useTestServer();
const cli = (key = KEY_A): Cli => newCli(server.url, key);
const ended = async (task: string, payload: object = {}): Promise<string> => {
  const job = (await server.a.post('/api/v1/jobs', { task_name: task, payload })).body.job_id;
  const body = { job_ids: [job], wait_secs: 30 };
  await until(async () => (await server.a.post('/api/v1/jobs/wait', body)).body.ended.length === 1, {
    what: 'its end',
  });
  return job;
};
/** Follows until it has printed that many lines. What happens when the first ones are there: by their number. */
async function follow(
  args: readonly string[],
  most: number,
  happens: Readonly<Record<number, () => Promise<unknown>>>,
): Promise<Outcome> {
  const interrupt = new AbortController();
  const happening: Promise<unknown>[] = [];
  let lines = 0;
  const onOutput: CallOptions['onOutput'] = () => {
    happening.push(happens[++lines]?.() ?? Promise.resolve());
    if (lines === most) interrupt.abort();
  };
  const outcome = await cli()(['tail', '--interval=100ms', ...args], { signal: interrupt.signal, onOutput });
  // The end of a job may be printed before whoever waits for that end has been told.
  await Promise.all(happening);
  return outcome;
}
const linesOf = ({ stdout }: Outcome): string[] => stdout.trimEnd().split('\n');

describe('tail', () => {
  it('begins with what has ended, and goes on as jobs end, until it is interrupted', async () => {
    const before = [await ended('echo'), await ended('fail', { message: 'no\nway', permanent: true })];
    const after: string[] = [];
    const outcome = await follow([], 4, {
      1: async () => after.push(await ended('echo'), await ended('fail', { message: 'again', permanent: true })),
    });
    expect(outcome).toMatchObject({ code: 0, stderr: '' });
    const lines = linesOf(outcome);
    expect(lines.map((line) => line.split(/ +/)[3])).toEqual([...before, ...after]);
    expect(lines[0]).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ {2}completed +\S+s {2}\S{36} {2}echo on default$/);
    expect(lines[1]).toMatch(/Z {2}failed .* fail on default: no way$/);
  });

  it('shows each once, by task, queue and state', async () => {
    await ended('echo');
    const failed = await ended('fail', { message: 'filtered', permanent: true });
    const one = await cli()(['tail', '--task=fail', '--status=failed', '--lines=1', '--count=1']);
    expect(linesOf(one)).toEqual([expect.stringContaining(failed)]);
    const next: string[] = [];
    const outcome = await follow(['--status=cancelled,failed', '--queue=default', '--lines=1', '--jsonl'], 2, {
      1: async () => {
        await ended('echo');
        next.push(await ended('fail', { message: 'the next', permanent: true }));
      },
    });
    const jobs = linesOf(outcome).map((line) => JSON.parse(line));
    expect(jobs).toMatchObject([
      { id: failed, status: 'failed' },
      { id: next[0], error_message: 'the next' },
    ]);
    expect(jobs[0]).not.toHaveProperty('payload');
  });

  it('shows each of hundreds that end between two looks, however old', async () => {
    const queue = newQueue();
    const complete = async (leased: readonly Leased[]): Promise<void> => {
      const reports = leased.map(({ job, lease_token }) => ({ job_id: job.id, lease_token, outcome: 'completed' }));
      await server.worker.post('/api/v1/reports', { reports });
    };
    const oldest = await createJob(server.a, queue);
    const held = await lease(server.worker, queue);
    await createJobs(server.a, queue, 201);
    await complete(await lease(server.worker, queue));
    // The oldest one ends last, behind two hundred younger ones.
    const outcome = await follow(['--queue', queue, '--lines=1'], 202, {
      1: async () => {
        for (let n = 0; n < 2; n++) await complete(await lease(server.worker, queue, { max_jobs: 100 }));
      },
      201: () => complete(held),
    });
    const ids = linesOf(outcome).map((line) => line.split(/ +/)[3]);
    expect(ids).toHaveLength(202);
    expect(new Set(ids).size).toBe(202);
    expect(ids.at(-1)).toBe(oldest);
  });

  it('fits into the terminal', async () => {
    await ended('fail', { message: 'x'.repeat(200), permanent: true });
    const args = ['tail', '--status=failed', '--lines=1', '--count=1'];
    const { stdout } = await cli()(args, { terminal: { stdout: true }, columns: 90, env: { NO_COLOR: '1' } });
    expect(stdout.trimEnd()).toHaveLength(90);
  });

  it('shows nothing of another tenant', async () => {
    await ended('fail', { message: 'of A', permanent: true });
    const payload = { message: 'of B', permanent: true };
    await server.b.post('/api/v1/jobs', { task_name: 'fail', payload });
    const { stdout } = await cli(KEY_B)(['tail', '--count=1', '--interval=100ms']);
    expect(stdout).toMatch(/fail on default: of B\n$/);
  });

  it('says what it cannot read', async () => {
    expect(await cli()(['tail', '--lines=x'])).toMatchObject({ code: 2 });
    expect(await cli()(['tail', '--status=running'])).toMatchObject({ code: 2 });
    expect(await cli('not-a-token-of-anybody')(['tail'])).toMatchObject({ code: 4 });
  });
});
