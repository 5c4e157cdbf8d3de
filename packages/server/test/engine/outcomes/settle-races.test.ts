import { describe, expect, it } from 'vitest';
import { KEY_A, useTestServer, WORKER_TOKEN } from '../../support/server.js';
import { createJobs, deadLettersOf, getJob, lease, newQueue, type Leased } from '../kit.js';
import { pipeline, type PipelinedRequest } from '../pipeline.js';

/** Reports on one job that arrive together and may share a statement: one takes effect, and the others are told. */
describe('two outcomes of one job at the same moment', async () => {
  const { a, worker, url } = await useTestServer({ config: { mode: 'api' } });

  const cancelling = ({ job }: Leased): PipelinedRequest => ({
    path: `/api/v1/jobs/${job.id}/cancel`,
    token: KEY_A,
  });
  const reporting = (what: string, { job, lease_token }: Leased, fields: object): PipelinedRequest => ({
    path: `/api/v1/jobs/${job.id}/${what}`,
    token: WORKER_TOKEN,
    body: { lease_token, ...fields },
  });
  const held = async (count: number, config: object = {}): Promise<Leased[]> => {
    const queue = newQueue();
    await createJobs(a, queue, count, { retry_delay_secs: 3600, ...config });
    return lease(worker, queue, { max_jobs: count });
  };

  it('an acknowledged cancellation holds, whatever the worker reported meanwhile', async () => {
    const leased = await held(40);
    const replies = await pipeline(
      url,
      leased.flatMap((leasedJob, i) => {
        const pair = [cancelling(leasedJob), reporting('fail', leasedJob, { error: 'x', retryable: i % 4 < 2 })];
        return i % 2 ? pair : pair.reverse();
      }),
    );
    for (const [i, { job }] of leased.entries()) {
      const pair = replies.slice(2 * i, 2 * i + 2).map(({ status }) => status);
      const [cancelled, failed] = i % 2 ? pair : pair.reverse();
      const { status } = await getJob(a, job.id);
      // Cancelling retries until it has acted, so only an earlier end of the job can prevent it.
      if (cancelled === 204) expect(status).toBe('cancelled');
      else expect([cancelled, failed, status]).toEqual([409, 204, 'failed']);
      expect(await deadLettersOf(a, job.id)).toHaveLength(status === 'failed' ? 1 : 0);
    }
  });

  it('one of two failures uses a retry, and the other is told that the lease is lost', async () => {
    const leased = await held(20, { max_retries: 5 });
    const replies = await pipeline(
      url,
      leased.flatMap((leasedJob) => [1, 2].map((n) => reporting('fail', leasedJob, { error: `number ${n}` }))),
    );
    for (const [i, { job }] of leased.entries()) {
      const pair = replies.slice(2 * i, 2 * i + 2);
      expect(pair.map(({ status }) => status).sort()).toEqual([204, 409]);
      const told = pair.findIndex(({ status }) => status === 204) + 1;
      expect(await getJob(a, job.id)).toMatchObject({
        status: 'retrying',
        retry_count: 1,
        error_message: `number ${told}`,
      });
    }
  });

  it('either the completion or the failure takes effect, and the other changes nothing', async () => {
    const leased = await held(20, { max_retries: 0 });
    await pipeline(
      url,
      leased.flatMap((leasedJob, i) => {
        const pair = [
          reporting('complete', leasedJob, { result: { i } }),
          reporting('fail', leasedJob, { error: 'x' }),
        ];
        return i % 2 ? pair : pair.reverse();
      }),
    );
    for (const [i, { job }] of leased.entries()) {
      const { status, result, error_message } = await getJob(a, job.id);
      if (status === 'completed') expect([result, error_message]).toEqual([{ i }, null]);
      else expect([status, result, error_message]).toEqual(['failed', null, 'x']);
      expect(await deadLettersOf(a, job.id)).toHaveLength(status === 'failed' ? 1 : 0);
    }
  });

  it('a report under a wrong token does not affect one under the right token', async () => {
    const leased = await held(10);
    const replies = await pipeline(
      url,
      leased.flatMap((leasedJob, i) => {
        const stranger = { ...leasedJob, lease_token: '00000000-0000-4000-8000-000000000000' };
        const pair = [stranger, leasedJob].map((who) =>
          reporting('fail', who, { error: who === leasedJob ? 'mine' : 'theirs' }),
        );
        return i % 2 ? pair : pair.reverse();
      }),
    );
    for (const [i, { job }] of leased.entries()) {
      const pair = replies.slice(2 * i, 2 * i + 2).map(({ status }) => status);
      expect(i % 2 ? pair : pair.reverse()).toEqual([409, 204]);
      expect(await getJob(a, job.id)).toMatchObject({ status: 'retrying', error_message: 'mine' });
    }
  });
});
