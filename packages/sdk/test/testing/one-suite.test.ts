import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  AlreadyFinishedError,
  AlreadyReplayedError,
  InvalidRequestError,
  JobCancelledError,
  JobFailedError,
  NonRetryableError,
  NotFoundError,
  task,
  type,
  WaitTimeoutError,
  workflow,
  WorkflowCancelledError,
  WorkflowFailedError,
  type EndedJob,
  type Job,
} from '../../src/index.js';
import { timetableOf } from '../../src/testing/fake/cron-expression.js';
import { fakeStage, lease, onceAnHour, realStage, workOff, type Stage } from '../support/stages.js';

let names = 0;
/** A queue of its own for every test. */
const freshQueue = (): string => `queue ${++names}/ü`;

/** One suite for both: what it says of the real service, the fake one must do as well. */
describe.each([
  ['the fake server', fakeStage],
  ['the real server', realStage],
] as const)('%s', (_name, start) => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await start();
  });
  afterAll(() => stage.stop());

  const doubling = (queue: string) =>
    task({
      name: 'double',
      queue,
      input: type<{ n: number }>(),
      output: type<{ n: number }>(),
      retries: { max: 1, delay: '1h', jitter: 0 },
    });

  describe('jobs as they end', () => {
    it('are told once each, in that order, those that were asked for', async () => {
      const queue = freshQueue();
      const double = doubling(queue);
      const over = new AbortController();
      const options = { queue, every: '20ms', signal: over.signal } as const;
      const ends = await stage.millrace.jobs.followEnds(options);
      const cancelled = await stage.millrace.jobs.followEnds({ ...options, status: 'cancelled', task: double });
      const [first, second, third] = [
        await stage.millrace.enqueue(double, { n: 1 }),
        await stage.millrace.enqueue(double, { n: 2 }),
        await stage.millrace.enqueue(double, { n: 3 }),
      ];
      await third.cancel();
      await second.cancel();
      await workOff(stage, queue, [double.handle(({ n }) => ({ n: n * 2 }))]);
      const told: EndedJob[] = [];
      for await (const job of ends) if (told.push(job) === 3) break;
      expect(told.map(({ id, status }) => [id, status])).toEqual([
        [third.id, 'cancelled'],
        [second.id, 'cancelled'],
        [first.id, 'completed'],
      ]);
      expect(told[2]).toMatchObject({ task: 'double', queue, completedAt: expect.any(Date) });
      expect(told[2]).not.toHaveProperty('payload');
      const those: string[] = [];
      for await (const { id } of cancelled) if (those.push(id) === 2) over.abort();
      expect(those).toEqual([third.id, second.id]);
    });
  });

  describe('a job', () => {
    it('is created, run and waited for', async () => {
      const queue = freshQueue();
      const double = doubling(queue);
      const job = await stage.millrace.enqueue(double, { n: 21 }, { metadata: { by: 'test' }, priority: 3 });
      const before = await job.get();
      expect(before).toMatchObject({
        task: 'double',
        queue,
        status: 'pending',
        payload: { n: 21 },
        metadata: { by: 'test' },
      });
      expect(before.createdAt).toBeInstanceOf(Date);
      const waiting = job.result();
      await workOff(stage, queue, [double.handle(({ n }) => ({ n: n * 2 }))]);
      expect(await waiting).toEqual({ n: 42 });
      expect(await job.get()).toMatchObject({
        status: 'completed',
        result: { n: 42 },
        deliveryCount: 1,
        retryCount: 0,
      });
    });

    it('is created once per key, whatever the repeat says', async () => {
      const double = doubling(freshQueue());
      const key = `key-${freshQueue()}`.replace('ü', 'u');
      const first = await stage.millrace.enqueue(double, { n: 1 }, { key });
      const again = await stage.millrace.enqueue(double, { n: 2 }, { key });
      expect(again.id).toBe(first.id);
      expect(await again.get()).toMatchObject({ payload: { n: 1 }, key });
    });

    it('says where it comes from if it is the replay of a replay', async () => {
      const queue = freshQueue();
      const double = doubling(queue);
      const first = await stage.millrace.enqueue(double, { n: 1 });
      const fails = double.handle(() => Promise.reject(new NonRetryableError('no')));
      let latest = first;
      for (let n = 0; n < 3; n++) {
        await workOff(stage, queue, [fails]);
        const [letter] = await stage.millrace.deadLetters.list({ jobId: latest.id }).toArray();
        latest = (await stage.millrace.deadLetters.replay(letter!.id)) as typeof first;
        const { metadata } = await latest.get();
        expect(metadata.replayed_from_first ?? null).toBe(n === 0 ? null : first.id);
      }
    });

    it('is retried after its delay, then dead-lettered and replayed once', async () => {
      const queue = freshQueue();
      const double = doubling(queue);
      const failing = double.handle(() => {
        throw new Error('boom');
      });
      const job = await stage.millrace.enqueue(double, { n: 1 });
      await workOff(stage, queue, [failing]);
      const retrying = await job.get();
      expect(retrying).toMatchObject({ status: 'retrying', retryCount: 1, errorMessage: 'boom' });
      expect(retrying.nextRetryAt!.getTime()).toBe(retrying.scheduledAt.getTime());
      expect(await workOff(stage, queue, [failing])).toEqual([]);
      await stage.advance('61m');
      expect(await workOff(stage, queue, [failing])).toEqual(['double']);
      await expect(job.result()).rejects.toBeInstanceOf(JobFailedError);
      const [letter] = (await stage.millrace.deadLetters.list().toArray()).filter((each) => each.jobId === job.id);
      expect(letter).toMatchObject({ task: 'double', queue, reason: 'max_attempts_exceeded', errorMessage: 'boom' });
      const replayed = await stage.millrace.deadLetters.replay(letter!.id);
      await workOff(stage, queue, [double.handle(({ n }) => ({ n }))]);
      expect(await replayed.result()).toEqual({ n: 1 });
      expect(await stage.millrace.deadLetters.get(letter!.id)).toMatchObject({ replayJobId: replayed.id });
      await expect(stage.millrace.deadLetters.replay(letter!.id)).rejects.toBeInstanceOf(AlreadyReplayedError);
    });

    it('fails for good at once if its handler says so', async () => {
      const queue = freshQueue();
      const double = doubling(queue);
      const job = await stage.millrace.enqueue(double, { n: 1 });
      await workOff(stage, queue, [double.handle(() => Promise.reject(new NonRetryableError('never')))]);
      const error = await job.result().catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(JobFailedError);
      expect((error as JobFailedError).job).toMatchObject({ status: 'failed', errorMessage: 'never', retryCount: 0 });
    });

    it('is cancelled, once', async () => {
      const queue = freshQueue();
      const job = await stage.millrace.enqueue(doubling(queue), { n: 1 });
      await job.cancel();
      await expect(job.result()).rejects.toBeInstanceOf(JobCancelledError);
      await expect(job.cancel()).rejects.toBeInstanceOf(AlreadyFinishedError);
      expect(await lease(stage, queue)).toEqual([]);
    });

    it('is not due before its delay or its instant', async () => {
      const queue = freshQueue();
      const double = doubling(queue);
      const start_ = (await (await stage.millrace.enqueue(double, { n: 0 })).get()).createdAt;
      await lease(stage, queue);
      await stage.millrace.enqueue(double, { n: 1 }, { delay: '1h' });
      await stage.millrace.enqueue(double, { n: 2 }, { runAt: new Date(start_.getTime() + 7_200_000) });
      expect(await lease(stage, queue)).toHaveLength(0);
      await stage.advance('61m');
      expect((await lease(stage, queue)).filter(({ job }) => job.payload.n === 1)).toHaveLength(1);
      await stage.advance('60m');
      expect((await lease(stage, queue)).filter(({ job }) => job.payload.n === 2)).toHaveLength(1);
    });

    it('goes to a worker by priority, then in the order of creation', async () => {
      const queue = freshQueue();
      const double = doubling(queue);
      for (const [n, priority] of [
        [1, 0],
        [2, 5],
        [3, 0],
        [4, 5],
      ] as const) {
        await stage.millrace.enqueue(double, { n }, { priority });
      }
      expect((await lease(stage, queue)).map(({ job }) => job.payload.n)).toEqual([2, 4, 1, 3]);
    });

    it('is watched through its states', async () => {
      const queue = freshQueue();
      const double = doubling(queue);
      const job = await stage.millrace.enqueue(double, { n: 1 });
      const seen: Job['status'][] = [];
      for await (const state of job.watch()) {
        seen.push(state.status);
        if (state.status === 'pending') void workOff(stage, queue, [double.handle(({ n }) => ({ n }))]);
      }
      expect(seen).toEqual(['pending', 'running', 'completed']);
    });

    it('that does not exist is not found, by whatever id', async () => {
      for (const id of ['00000000-0000-7000-8000-000000000000', 'no id', 'a/b']) {
        await expect(stage.millrace.jobs.get(id), id).rejects.toBeInstanceOf(NotFoundError);
      }
    });

    it('that does not end in time is not waited for any longer, and goes on', async () => {
      const job = await stage.millrace.enqueue(doubling(freshQueue()), { n: 1 });
      const waited = expect(job.result({ timeout: '80ms' })).rejects.toBeInstanceOf(WaitTimeoutError);
      // By the clock of the fake server, which stands still otherwise.
      await stage.advance('1s');
      await waited;
      expect((await job.get()).status).toBe('pending');
    });
  });

  describe('a batch', () => {
    it('creates its jobs in order and waits for all', async () => {
      const queue = freshQueue();
      const double = doubling(queue);
      const handles = await stage.millrace.enqueueMany([1, 2, 3].map((n) => double.with({ n })));
      await workOff(stage, queue, [double.handle(({ n }) => ({ n: n * 2 }))]);
      expect(await stage.millrace.waitAll(handles)).toEqual([{ n: 2 }, { n: 4 }, { n: 6 }]);
    });

    it('with a failed job is not waited for in vain', async () => {
      const queue = freshQueue();
      const double = doubling(queue);
      const handles = await stage.millrace.enqueueMany([double.with({ n: 1 }), double.with({ n: 2 })]);
      await handles[1].cancel();
      await workOff(stage, queue, [double.handle(({ n }) => ({ n }))]);
      await expect(stage.millrace.waitAll(handles)).rejects.toBeInstanceOf(JobCancelledError);
    });

    it('takes a key per job, and repeats none of them in another batch', async () => {
      const queue = freshQueue();
      const double = doubling(queue);
      const call = (n: number) => double.with({ n }, { key: `${queue} ${n}` });
      const first = await stage.millrace.enqueueMany([call(1), call(2)]);
      const again = await stage.millrace.enqueueMany([call(2), double.with({ n: 4 }), call(3)]);
      expect(again[0].id).toBe(first[1].id);
      expect(await first[0].get()).toMatchObject({ key: `${queue} 1` });
      expect(await stage.millrace.jobs.list({ queue }).toArray()).toHaveLength(4);
      const repeated = await stage.call('POST', '/jobs/batch', {
        jobs: [1, 9].map((n) => ({ task_name: 'double', config: { queue }, idempotency_key: `${queue} ${n}` })),
      });
      expect(repeated).toMatchObject({ status: 201, body: { count: 2, replayed: [0] } });
      await expect(stage.millrace.enqueueMany([call(1)], { key: 'both' })).rejects.toThrow(/key/);
    });

    it('is created whole or not at all', async () => {
      const queue = freshQueue();
      const jobs = [{ task_name: 'double', config: { queue } }, { task_name: '' }];
      const answer = await stage.call('POST', '/jobs/batch', { jobs });
      expect(answer).toMatchObject({ status: 400, body: { code: 'invalid_request' } });
      expect(await stage.millrace.jobs.list({ queue }).toArray()).toEqual([]);
    });
  });

  describe('a lease', () => {
    it('that expires gives the job back, with one retry used; its token is stale then', async () => {
      const queue = freshQueue();
      const double = task({ name: 'double', queue, retries: { max: 2, delay: '0s' } });
      const job = await stage.millrace.enqueue(double);
      const [first] = await lease(stage, queue, { lease_secs: 1_800 });
      expect(
        (await stage.work(`/jobs/${job.id}/heartbeat`, { lease_token: first!.lease_token, extend_secs: 3_600 })).body,
      ).toEqual({ status: 'running' });
      await stage.advance('31m');
      expect((await job.get()).status).toBe('running');
      await stage.advance('30m');
      await expect.poll(async () => (await job.get()).status).toBe('retrying');
      expect(await job.get()).toMatchObject({
        retryCount: 1,
        errorMessage: expect.stringContaining('lease expired') as string,
      });
      for (const call of ['heartbeat', 'complete', 'fail']) {
        const answer = await stage.work(`/jobs/${job.id}/${call}`, {
          lease_token: first!.lease_token,
          ...(call === 'fail' && { error: 'x' }),
        });
        expect(answer, call).toMatchObject({ status: 409, body: { code: 'lease_lost' } });
      }
      const [second] = await lease(stage, queue);
      expect(second!.job).toMatchObject({ id: job.id, delivery_count: 2 });
      expect(second!.lease_token).not.toBe(first!.lease_token);
    });

    it('of a cancelled job is told so, and reports on it change nothing', async () => {
      const queue = freshQueue();
      const job = await stage.millrace.enqueue(doubling(queue), { n: 1 });
      const [held] = await lease(stage, queue);
      await job.cancel();
      const { lease_token } = held!;
      expect((await stage.work(`/jobs/${job.id}/heartbeat`, { lease_token })).body).toEqual({ status: 'cancelled' });
      expect((await stage.work(`/jobs/${job.id}/complete`, { lease_token, result: { n: 1 } })).status).toBe(204);
      expect(await job.get()).toMatchObject({ status: 'cancelled', result: null });
    });

    it('can be given back: the delivery counts, the retry does not', async () => {
      const queue = freshQueue();
      const job = await stage.millrace.enqueue(doubling(queue), { n: 1 });
      const [held] = await lease(stage, queue);
      expect((await stage.work(`/jobs/${job.id}/release`, { lease_token: held!.lease_token })).status).toBe(204);
      expect(await job.get()).toMatchObject({ status: 'pending', retryCount: 0, deliveryCount: 1 });
      expect(await lease(stage, queue)).toHaveLength(1);
    });

    it('is kept and reported on together with others, each judged by itself', async () => {
      const queue = freshQueue();
      const double = doubling(queue);
      const handles = await stage.millrace.enqueueMany([1, 2, 3].map((n) => double.with({ n })));
      const held = await lease(stage, queue);
      const leases = held.map(({ job, lease_token }) => ({
        job_id: job.id,
        lease_token,
        progress: { at: job.payload.n },
      }));
      const stranger = { job_id: handles[0]!.id, lease_token: '00000000-0000-4000-8000-000000000000' };
      const beats = await stage.work('/heartbeats', { extend_secs: 3_600, leases: [...leases, stranger] });
      expect(beats.body.leases.map((each: any) => each.status ?? each.code)).toEqual([
        'running',
        'running',
        'running',
        'lease_lost',
      ]);
      expect((await handles[1]!.get()).progress).toEqual({ at: 2 });
      const reports = [
        { ...at(leases[0]!), outcome: 'completed', result: { n: 2 } },
        { ...at(leases[1]!), outcome: 'failed', error: 'no', retryable: false },
        { ...at(leases[2]!), outcome: 'released' },
        { ...stranger, outcome: 'completed' },
      ];
      const answer = await stage.work('/reports', { reports });
      expect(answer.body.reports.map((each: any) => each.ok ?? each.code)).toEqual([true, true, true, true]);
      const states = await Promise.all(handles.map(async (handle) => (await handle.get()).status));
      expect(states).toEqual(['completed', 'failed', 'pending']);
    });

    it('may be asked for again after a time that the worker names', async () => {
      const queue = freshQueue();
      const job = await stage.millrace.enqueue(doubling(queue), { n: 1 });
      const [held] = await lease(stage, queue);
      const report = { lease_token: held!.lease_token, error: 'slow down', retry_after_secs: 7_200 };
      expect((await stage.work(`/jobs/${job.id}/fail`, report)).status).toBe(204);
      await stage.advance('60m');
      expect(await lease(stage, queue)).toEqual([]);
      await stage.advance('61m');
      expect(await lease(stage, queue)).toHaveLength(1);
    });
  });

  describe('a key', () => {
    const headers = (key: string): Record<string, string> => ({ 'Idempotency-Key': key });

    it('makes a batch, a rerun, a replay and a trigger repeatable', async () => {
      const queue = freshQueue();
      const double = doubling(queue);
      const key = (what: string): string => `${what} of ${queue.replace('ü', 'u')}`;
      const batch = await stage.millrace.enqueueMany([double.with({ n: 1 })], { key: key('batch') });
      const again = await stage.millrace.enqueueMany([double.with({ n: 2 }), double.with({ n: 3 })], {
        key: key('batch'),
      });
      expect(again.map(({ id }) => id)).toEqual(batch.map(({ id }) => id));
      expect(await batch[0].get()).toMatchObject({ key: null });
      const rerun = await stage.millrace.jobs.rerun(batch[0].id, { key: key('rerun') });
      expect((await stage.millrace.jobs.rerun(batch[0].id, { key: key('rerun') })).id).toBe(rerun.id);
      expect(await rerun.get()).toMatchObject({ payload: { n: 1 }, metadata: { rerun_of: batch[0].id } });
      await workOff(stage, queue, [double.handle(() => Promise.reject(new NonRetryableError('no')))]);
      const [letter] = await stage.millrace.deadLetters.list({ jobId: rerun.id }).toArray();
      const replay = await stage.millrace.deadLetters.replay(letter!.id, { key: key('replay') });
      expect((await stage.millrace.deadLetters.replay(letter!.id, { key: key('replay') })).id).toBe(replay.id);
      expect((await replay.get()).metadata).toMatchObject({
        replayed_from_job: rerun.id,
        replayed_from_dead_letter: letter!.id,
      });
      await stage.millrace.schedules.put({ name: queue, cron: '0 0 1 1 *', task: double, input: { n: 1 } });
      const fired = await stage.millrace.schedules.trigger(queue, { key: key('trigger') });
      expect((await stage.millrace.schedules.trigger(queue, { key: key('trigger') })).id).toBe(fired.id);
      await stage.millrace.schedules.delete(queue);
    });

    it('belongs to one kind of request', async () => {
      const key = `kind ${++names}`;
      const job = { task_name: 'x', config: { queue: freshQueue() } };
      expect((await stage.call('POST', '/jobs', job, headers(key))).status).toBe(201);
      expect(await stage.call('POST', '/jobs/batch', { jobs: [job] }, headers(key))).toMatchObject({
        status: 409,
        body: { code: 'conflict' },
      });
    });

    it('is refused if it is too long or the service’s own', async () => {
      for (const key of ['k'.repeat(256), 'millrace:cron:x']) {
        const answer = await stage.call('POST', '/jobs', { task_name: 'x' }, headers(key));
        expect(answer, key.slice(0, 20)).toMatchObject({ status: 400, body: { code: 'invalid_request' } });
      }
    });
  });

  describe('a job that waits', () => {
    it('can be made due now', async () => {
      const queue = freshQueue();
      const job = await stage.millrace.enqueue(doubling(queue), { n: 1 }, { delay: '1h' });
      expect(await lease(stage, queue)).toEqual([]);
      await stage.millrace.jobs.runNow(job.id);
      expect(await lease(stage, queue)).toHaveLength(1);
      expect(await stage.call('POST', `/jobs/${job.id}/run-now`)).toMatchObject({ status: 409 });
    });

    it('is waited for with others, and unknown ones are named', async () => {
      const queue = freshQueue();
      const double = doubling(queue);
      const [one, two] = await stage.millrace.enqueueMany([double.with({ n: 1 }), double.with({ n: 2 })]);
      await one.cancel();
      const body = { job_ids: [one.id, two.id, 'nobody', one.id], until: 'any', wait_secs: 1 };
      expect((await stage.call('POST', '/jobs/wait', body)).body).toEqual({
        ended: [{ id: one.id, status: 'cancelled' }],
        pending: [two.id],
        missing: ['nobody'],
      });
    });
  });

  describe('a list', () => {
    it('is walked page by page, in either order, up to a limit', async () => {
      const queue = freshQueue();
      const double = doubling(queue);
      for (let n = 1; n <= 5; n++) await stage.millrace.enqueue(double, { n });
      const numbers = (jobs: Job[]): unknown[] => jobs.map((job) => job.payload.n);
      const { jobs } = stage.millrace;
      expect(numbers(await jobs.list({ queue }).toArray())).toEqual([5, 4, 3, 2, 1]);
      expect(numbers(await jobs.list({ queue, oldestFirst: true, limit: 3 }).toArray())).toEqual([1, 2, 3]);
      const listing = jobs.list({ queue, limit: 2, includeTotal: true });
      const first = await listing.page();
      expect(first).toMatchObject({ total: 5 });
      const second = await listing.page(first.nextCursor!);
      const third = await listing.page(second.nextCursor!);
      expect([first, second, third].map(({ items }) => numbers(items))).toEqual([[5, 4], [3, 2], [1]]);
      expect(third.nextCursor).toBeNull();
    });

    it('has the filters of the service', async () => {
      const queue = freshQueue();
      const double = doubling(queue);
      const [one, two] = await stage.millrace.enqueueMany([double.with({ n: 1 }), double.with({ n: 2 })]);
      await one.cancel();
      const ids = async (filter: object): Promise<string[]> =>
        (await stage.millrace.jobs.list({ queue, ...filter }).toArray()).map((job) => job.id);
      expect(await ids({ status: 'cancelled' })).toEqual([one.id]);
      expect(await ids({ status: ['pending', 'cancelled'] })).toEqual([two.id, one.id]);
      expect(await ids({ task: double })).toEqual([two.id, one.id]);
      expect(await ids({ task: 'other' })).toEqual([]);
      const answer = await stage.call('GET', '/jobs?status=odd');
      expect(answer).toMatchObject({ status: 400, body: { code: 'invalid_request' } });
    });

    it('of queues counts what waits and what runs', async () => {
      const queue = freshQueue();
      const double = doubling(queue);
      await stage.millrace.enqueueMany([1, 2, 3].map((n) => double.with({ n })));
      await stage.millrace.enqueue(double, { n: 4 }, { delay: '1h' });
      await lease(stage, queue, { max_jobs: 1 });
      const found = (await stage.millrace.queues.list().toArray()).find((each) => each.name === queue);
      expect(found).toMatchObject({ pending: 2, scheduled: 1, running: 1 });
      const listed = async (options: { idle?: boolean }) =>
        (await stage.millrace.queues.list(options).toArray()).map((each) => each.name);
      expect(await listed({ idle: true })).toContain(queue);
      expect(await listed({})).toContain(queue);
    });
  });

  describe('a request that is wrong', () => {
    it.each([
      ['a blank task', { task_name: ' ' }, 'task_name'],
      ['no task', {}, 'task_name'],
      ['a payload that is a list', { task_name: 'x', payload: [] }, 'payload'],
      ['too many retries', { task_name: 'x', config: { max_retries: 1001 } }, 'config.max_retries'],
      ['a number as text', { task_name: 'x', config: { priority: '3' } }, 'config.priority'],
      ['an unknown backoff', { task_name: 'x', config: { retry_backoff: 'odd' } }, 'config.retry_backoff'],
      ['half a retry', { task_name: 'x', config: { max_retries: 0.5 } }, 'config.max_retries'],
      ['no instant', { task_name: 'x', run_at: 'tomorrow' }, 'run_at'],
      ['an unknown field', { task_name: 'x', queue: 'y' }, 'queue'],
      ['an unknown field of the policy', { task_name: 'x', config: { retries: 1 } }, 'config.retries'],
      ['a delay below zero', { task_name: 'x', delay_secs: -1 }, 'delay_secs'],
    ])('is refused: %s', async (_what, body, path) => {
      const answer = await stage.call('POST', '/jobs', body);
      expect(answer).toMatchObject({ status: 400, body: { code: 'invalid_request' } });
      expect(answer.body.details[0].path).toBe(path);
    });

    const deep = (levels: number): object => JSON.parse('{"d":'.repeat(levels) + '1' + '}'.repeat(levels)) as object;
    const key = { 'Idempotency-Key': 'one' };

    it.each([
      ['a payload of more than 4 MiB', { task_name: 'x', payload: { a: 'x'.repeat(4_194_304) } }, {}, 413, 'payload'],
      ['metadata of more than 4 MiB', { task_name: 'x', metadata: { a: 'é'.repeat(2_097_152) } }, {}, 413, 'metadata'],
      ['a body of more than 16 MiB', { task_name: 'x', zzz: 'x'.repeat(16_777_216) }, {}, 413, undefined],
      ['NUL in a name', { task_name: 'a\0b' }, {}, 400, 'task_name'],
      ['half a character in a queue', { task_name: 'x', config: { queue: '\ud800' } }, {}, 400, 'config.queue'],
      ['a day without a time', { task_name: 'x', run_at: '2030-01-01' }, {}, 400, 'run_at'],
      ['a body that is nested too deep', { task_name: 'x', payload: deep(1_000) }, {}, 400, undefined],
      ['two keys', { task_name: 'x', idempotency_key: 'two' }, key, 400, 'idempotency_key'],
      ['a key that is too long', { task_name: 'x', idempotency_key: 'k'.repeat(256) }, {}, 400, 'idempotency_key'],
      ['a key with NUL', { task_name: 'x', idempotency_key: 'a\0' }, {}, 400, 'idempotency_key'],
      ['a key of the service', { task_name: 'x' }, { 'Idempotency-Key': 'millrace:x' }, 400, 'Idempotency-Key'],
    ])('is refused: %s', async (_what, body, headers, status, path) => {
      const answer = await stage.call('POST', '/jobs', body, headers);
      expect(answer.status).toBe(status);
      expect(answer.body.details?.[0].path).toBe(path);
    });

    it('is not refused at the limit', async () => {
      for (const body of [
        { task_name: 'x', payload: { a: 'x'.repeat(4_194_304 - '{"a":""}'.length) } },
        { task_name: 'x', payload: deep(999) },
        { task_name: 'x', idempotency_key: '𝄞'.repeat(255) },
        { task_name: 'x', run_at: '2030-01-01 00:00:00+0100' },
      ])
        expect(await stage.call('POST', '/jobs', body)).toMatchObject({ status: 201 });
      expect(await stage.call('POST', '/jobs', { task_name: 'x', idempotency_key: 'one' }, key)).toMatchObject({
        status: 201,
      });
    });

    it.each([
      ['a cursor that no page came with', 'cursor=20', 'cursor'],
      ['a cursor that is no cursor', 'cursor=%00', 'cursor'],
      ['a limit that is no number', 'limit=many', 'limit'],
      ['a limit out of range', 'limit=101', 'limit'],
      ['an offset out of range', 'offset=-1', 'offset'],
      ['a limit given twice', 'limit=1&limit=2', 'limit'],
      ['an order that there is none of', 'order_by=next_run_at ASC', 'order_by'],
      ['an instant that is none', 'created_after=2030-01-01', 'created_after'],
      ['a total that is neither true nor false', 'include_total=maybe', 'include_total'],
      ['NUL in a filter', 'queue=%00', 'queue'],
    ])('is refused in a list: %s', async (_what, query, path) => {
      const answer = await stage.call('GET', `/jobs?${query}`);
      expect(answer).toMatchObject({ status: 400, body: { code: 'invalid_request' } });
      expect(answer.body.details[0].path).toBe(path);
    });

    it('is refused without a token', async () => {
      expect(await stage.call('GET', '/jobs', undefined, { Authorization: '' })).toMatchObject({ status: 401 });
    });
  });

  describe('a schedule', () => {
    const nightly = { name: 'nightly', cron: '30 3 * * *', task: task({ name: 'sweep', queue: 'sweeps' }) };

    it('is put, changed by its name, paused, resumed and deleted', async () => {
      const { schedules } = stage.millrace;
      const first = await schedules.put(nightly);
      expect(first).toMatchObject({
        name: 'nightly',
        cron: '30 3 * * *',
        task: 'sweep',
        queue: 'sweeps',
        enabled: true,
      });
      expect(first.nextRunAt!.toISOString()).toMatch(/T03:30:00.000Z$/);
      const same = await schedules.put(nightly);
      expect(same).toEqual(first);
      await schedules.pause('nightly');
      const changed = await schedules.put({ ...nightly, cron: '@hourly' });
      expect(changed).toMatchObject({ id: first.id, cron: '@hourly', enabled: false });
      await schedules.resume('nightly');
      expect((await schedules.get('nightly')).nextRunAt!.toISOString()).toMatch(/:00:00.000Z$/);
      const [next, later] = await schedules.next('nightly', 2);
      expect(later!.getTime() - next!.getTime()).toBe(3_600_000);
      expect((await schedules.list().toArray()).map((each) => each.name)).toContain('nightly');
      await schedules.delete('nightly');
      await expect(schedules.get('nightly')).rejects.toBeInstanceOf(NotFoundError);
    });

    it('fires at its instant, and when it is triggered', async () => {
      const queue = freshQueue();
      const tick = task({ name: 'tick', queue, input: type<{ n: number }>() });
      const { schedules } = stage.millrace;
      await schedules.put({ name: queue, cron: await onceAnHour(stage), task: tick, input: { n: 7 } });
      const triggered = await schedules.trigger(queue);
      expect(await triggered.get()).toMatchObject({ task: 'tick', payload: { n: 7 }, metadata: { cron_name: queue } });
      await stage.advance('1h');
      const jobs = stage.millrace.jobs.list({ queue });
      await expect.poll(async () => (await jobs.toArray()).length).toBe(2);
      const kinds = (await schedules.firings(queue).toArray()).map((firing) => firing.kind);
      expect(kinds.at(-1)).toBe('triggered');
      expect(kinds).toHaveLength(2);
      await schedules.delete(queue);
    });

    it('with an expression that makes no sense is refused', async () => {
      for (const cron of ['* * * *', '61 * * * *', '0 0 30 2 *', 'often', '@reboot', '5-1 * * * *']) {
        await expect(stage.millrace.schedules.put({ ...nightly, cron }), cron).rejects.toBeInstanceOf(
          InvalidRequestError,
        );
      }
    });

    it.each([
      '30 3 * * *',
      '*/7 9-17 * * mon-fri',
      '0 0 13 * 5',
      '@weekly',
      '15 10 1,15 jan-jun *',
      '*/20 * * * * *',
      '0 12 29 2 *',
      '0 0 9 1 1 * 2190-2199',
      '30 2 * * * Europe/Berlin',
      '*/20 * * * * America/St_Johns',
      '0 0 * * 0 pacific/auckland',
    ])('means the same instants by %s', async (words) => {
      const [, cron = '', timezone] = /^(.*?)(?: (\S+\/\S+))?$/.exec(words)!;
      const next = await stage.millrace.schedules.preview(cron, timezone === undefined ? {} : { timezone });
      expect(next).toHaveLength(5);
      const timetable = timetableOf(cron, timezone);
      const expected = [next[0]!.getTime()];
      while (expected.length < 5) expected.push(timetable.next(expected.at(-1)!)!);
      expect(timetable.next(expected[0]! - 1)).toBe(expected[0]);
      expect(next.map((each) => each.getTime())).toEqual(expected);
    });
  });

  describe('a workflow', () => {
    const steps = (queue: string) => ({
      reserve: task({
        name: 'reserve',
        queue,
        input: type<{ sku: string }>(),
        output: type<{ shelf: number; at: { hall: string } }>(),
      }),
      ship: task({
        name: 'ship',
        queue,
        input: type<{ shelf: number; hall: string; note?: string | undefined }>(),
        output: type<{ parcel: string }>(),
      }),
      advert: task({ name: 'advert', queue, output: type<{ text: string }>(), retries: { max: 0 } }),
    });

    it('hands results on, and returns those of all steps', async () => {
      const queue = freshQueue();
      const { reserve, ship } = steps(queue);
      const order = workflow({ name: 'order', input: type<{ sku: string }>() })
        .step('reserve', reserve, { payload: ({ input }) => ({ sku: input.sku.toUpperCase() }) })
        .step('ship', ship, {
          after: ['reserve'],
          payload: ({ steps: at }) => ({ shelf: at.reserve.shelf, hall: at.reserve.at.hall }),
        });
      const run = await stage.millrace.start(
        order,
        { sku: 'a-1' },
        { key: `order ${names}`, metadata: { by: 'test' } },
      );
      expect((await stage.millrace.start(order, { sku: 'other' }, { key: `order ${names}` })).id).toBe(run.id);
      const seen: string[] = [];
      const handlers = [
        reserve.handle(({ sku }) => ({ shelf: sku.length, at: { hall: sku } })),
        ship.handle((input) => {
          seen.push(JSON.stringify(input));
          return { parcel: `${input.hall}-${input.shelf}` };
        }),
      ];
      expect(await workOff(stage, queue, handlers)).toEqual(['reserve', 'ship']);
      expect(await run.result()).toEqual({ reserve: { shelf: 3, at: { hall: 'A-1' } }, ship: { parcel: 'A-1-3' } });
      expect(seen).toEqual(['{"shelf":3,"hall":"A-1"}']);
      expect((await run.get()).context, 'what it was started with').toMatchObject({ input: { sku: 'a-1' } });
      expect(await run.get()).toMatchObject({ name: 'order', status: 'completed', metadata: { by: 'test' } });
      expect((await run.steps()).map(({ name, status }) => [name, status])).toEqual([
        ['reserve', 'completed'],
        ['ship', 'completed'],
      ]);
    });

    it('goes on without the result of a step that may fail', async () => {
      const queue = freshQueue();
      const { ship, advert } = steps(queue);
      const flow = workflow({ name: 'shaky' })
        .step('advert', advert, { onFailure: 'continue' })
        .step('ship', ship, {
          after: ['advert'],
          payload: ({ steps: at }) => ({ shelf: 1, hall: 'x', note: at.advert.text }),
        });
      const run = await stage.millrace.start(flow, {});
      let input: unknown;
      const handlers = [
        advert.handle(() => Promise.reject(new Error('none left'))),
        ship.handle((given) => {
          input = given;
          return { parcel: 'p' };
        }),
      ];
      await workOff(stage, queue, handlers);
      const result = await run.result();
      expect(result).toEqual({ ship: { parcel: 'p' } });
      expect(input).toEqual({ shelf: 1, hall: 'x' });
      expect(await run.status()).toBe('partially_failed');
    });

    it('skips what follows a step that says so', async () => {
      const queue = freshQueue();
      const { advert } = steps(queue);
      const flow = workflow({ name: 'skipping' })
        .step('first', advert, { onFailure: 'skip' })
        .step('second', advert, { after: ['first'] })
        .step('third', advert, { after: ['second'] })
        .step('beside', task({ name: 'beside', queue }), {});
      const run = await stage.millrace.start(flow, {});
      const handlers = [
        advert.handle(() => Promise.reject(new Error('no'))),
        task({ name: 'beside' }).handle(() => undefined),
      ];
      await workOff(stage, queue, handlers);
      expect(await run.result()).toEqual({ beside: {} });
      expect((await run.steps()).map((step) => step.status)).toEqual(['failed', 'skipped', 'skipped', 'completed']);
    });

    it('fails as a whole at a step that halts, and cancels the rest', async () => {
      const queue = freshQueue();
      const { advert } = steps(queue);
      const flow = workflow({ name: 'halting' })
        .step('first', advert, {})
        .step('second', advert, { after: ['first'] });
      const run = await stage.millrace.start(flow, {});
      await workOff(stage, queue, [advert.handle(() => Promise.reject(new Error('no')))]);
      const error = await run.result().catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(WorkflowFailedError);
      expect((error as Error).message).toContain('first');
      expect((await run.steps()).map((step) => step.status)).toEqual(['failed', 'cancelled']);
    });

    it('goes on where it failed, or from any step, with other keys in its context', async () => {
      const queue = freshQueue();
      const { reserve, advert } = steps(queue);
      const flow = workflow({ name: 'resumed' })
        .step('reserve', reserve, { payload: () => ({ sku: 'a' }) })
        .step('advert', advert, { after: ['reserve'] });
      const run = await stage.millrace.start(flow, {});
      await expect(run.resume()).rejects.toMatchObject({ code: 'conflict' });
      const handlers = (text: () => Promise<{ text: string }>) => [
        reserve.handle(() => ({ shelf: 1, at: { hall: 'x' } })),
        advert.handle(text),
      ];
      await workOff(
        stage,
        queue,
        handlers(() => Promise.reject(new NonRetryableError('down'))),
      );
      const failed = (await run.steps())[1]!.jobId;
      expect(await run.resume({ from: ['reserve'], dryRun: true })).toEqual(['reserve', 'advert']);
      expect(await run.resume({ context: { patched: true }, key: `resume ${names}` })).toEqual(['advert']);
      expect(await run.resume({ key: `resume ${names}` })).toEqual(['advert']);
      expect((await run.steps())[1]).toMatchObject({ run: 2, earlierJobIds: [failed], status: 'pending' });
      expect((await run.get()).context).toMatchObject({ patched: true, shelf: 1, reserve: { shelf: 1 } });
      const good = handlers(() => Promise.resolve({ text: 'up' }));
      expect(await workOff(stage, queue, good)).toEqual(['advert']);
      expect(await run.result()).toEqual({ reserve: { shelf: 1, at: { hall: 'x' } }, advert: { text: 'up' } });
      await expect(stage.millrace.workflows.resume(run.id)).rejects.toMatchObject({ code: 'conflict' });
    });

    it('is cancelled, once, with its steps', async () => {
      const queue = freshQueue();
      const { advert } = steps(queue);
      const run = await stage.millrace.start(workflow({ name: 'cancelled' }).step('only', advert, {}), {});
      await run.cancel();
      await expect(run.result()).rejects.toBeInstanceOf(WorkflowCancelledError);
      await expect(run.cancel()).rejects.toBeInstanceOf(AlreadyFinishedError);
      expect(await lease(stage, queue)).toEqual([]);
    });

    it('is watched until it ends', async () => {
      const queue = freshQueue();
      const { advert } = steps(queue);
      const run = await stage.millrace.start(workflow({ name: 'watched' }).step('only', advert, {}), {});
      const seen: string[] = [];
      for await (const { workflow: record, steps: each } of run.watch()) {
        if (seen.length === 0) void workOff(stage, queue, [advert.handle(() => ({ text: 't' }))]);
        seen.push(`${record.status} ${each[0]!.status}`);
      }
      expect(seen[0]).toBe('created pending');
      expect(seen.at(-1)).toBe('completed completed');
    });

    it('with a cycle, a name twice or an unknown step is refused', async () => {
      const step = (name: string, ...depends_on: string[]) => ({ name, task_name: 'x', depends_on });
      for (const list of [
        [step('a', 'b'), step('b', 'a')],
        [step('a'), step('a')],
        [step('a', 'z')],
        [step('a', 'a')],
        [],
      ]) {
        const answer = await stage.call('POST', '/workflows', { name: 'odd', steps: list });
        expect(answer, JSON.stringify(list)).toMatchObject({ status: 400, body: { code: 'invalid_request' } });
      }
    });
  });
});

/** The fields of what each server returns, by kind. */
const fields: Record<string, string[]> = {};

describe.each([
  ['the fake server', fakeStage],
  ['the real server', realStage],
] as const)('the records of %s', (_name, start) => {
  it('have the fields that the other’s have', async () => {
    const stage = await start();
    try {
      const queue = freshQueue();
      const fail = task({ name: 'fail', queue });
      const job = await stage.millrace.enqueue(fail);
      const run = await stage.millrace.start(workflow({ name: 'flow' }).step('only', fail, {}), {});
      const schedule = await stage.millrace.schedules.put({ name: 'nightly', cron: '@daily', task: fail });
      const queues = await stage.call('GET', '/queues');
      await workOff(stage, queue, [fail.handle(() => Promise.reject(new NonRetryableError('no')))]);
      const read = async (path: string): Promise<any> => (await stage.call('GET', path)).body;
      const records = {
        job: await read(`/jobs/${job.id}`),
        jobs: await read('/jobs'),
        workflow: await read(`/workflows/${run.id}`),
        definition: (await read(`/workflows/${run.id}`)).steps[0],
        step: (await read(`/workflows/${run.id}/steps`)).steps[0],
        schedule: await read(`/cron/${schedule.id}`),
        letter: (await read('/dlq')).dead_letters[0],
        queue: queues.body.queues[0],
        whoami: await read('/whoami'),
        features: Object.fromEntries((await read('/whoami')).features.map((feature: string) => [feature, true])),
        error: await read('/jobs/none'),
      };
      for (const [kind, record] of Object.entries(records)) {
        const names_ = Object.keys(record as object)
          .filter((name) => name !== 'prev_cursor')
          .sort();
        expect(names_, kind).toEqual((fields[kind] ??= names_));
      }
    } finally {
      await stage.stop();
    }
  });
});

const at = ({ job_id, lease_token }: { job_id: string; lease_token: string }) => ({ job_id, lease_token });
