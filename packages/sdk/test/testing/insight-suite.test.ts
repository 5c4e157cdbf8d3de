import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  AlreadyFinishedError,
  InvalidRequestError,
  NonRetryableError,
  NotFoundError,
  task,
  type,
  workflow,
} from '../../src/index.js';
import { fakeStage, lease, realStage, workOff, type Stage } from '../support/stages.js';

/** What people ask about jobs, queues and workers, and bulk work: the fake server answers as the real one does. */
let queues = 0;
const freshQueue = (): string => `insight-${queues++}`;
const fails = (message: string) => () => Promise.reject(new NonRetryableError(message));

describe.each([
  ['the fake server', fakeStage],
  ['the real server', realStage],
] as const)('%s', (_name, start) => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await start();
  });
  afterAll(() => stage.stop());

  it('says why a job does not run', async () => {
    const { millrace } = stage;
    const queue = freshQueue();
    const plain = task({ name: 'plain', queue, retries: { delay: '1h' } });
    const reason = async (id: string) => (await millrace.jobs.why(id)).reason;
    const first = await millrace.enqueue(plain);
    const later = await millrace.enqueue(plain, {}, { delay: '1h' });
    expect(await millrace.jobs.why(first.id)).toMatchObject({
      reason: 'no_worker',
      message: `The job is due, but no worker asks for jobs of the queue "${queue}".`,
    });
    expect(await reason(later.id)).toBe('due_later');
    const asks = { max_jobs: 1, worker_id: 'w1', slots: 4, tasks: ['another'] };
    const [held] = await lease(stage, queue, asks);
    const second = await millrace.enqueue(plain);
    expect(await millrace.jobs.why(second.id)).toMatchObject({
      reason: 'no_handler',
      message: `A worker has asked for jobs of the queue "${queue}", but knows no task "plain".`,
    });
    expect(await reason(first.id)).toBe('running');
    await stage.work(`/jobs/${first.id}/fail`, { lease_token: held!.lease_token, error: 'no' });
    expect(await reason(first.id)).toBe('retry_backoff');
    await lease(stage, freshQueue());
    await stage.work(`/queues/${queue}/lease`, { ...asks, max_jobs: 1, tasks: ['plain'] });
    const [third, fourth] = [await millrace.enqueue(plain), await millrace.enqueue(plain)];
    expect(await millrace.jobs.why(third.id)).toMatchObject({ reason: 'behind', ahead: 0 });
    expect(await millrace.jobs.why(fourth.id)).toMatchObject({
      ...{ reason: 'behind', ahead: 1, message: `One job is ahead of it on the queue "${queue}".` },
    });
    await third.cancel();
    expect(await reason(third.id)).toBe('ended');
    await expect(millrace.jobs.why('none')).rejects.toBeInstanceOf(NotFoundError);
  });

  it('shows limits and their lines', async () => {
    const { millrace } = stage;
    const queue = freshQueue();
    const limited = task({ name: 'limited', queue });
    const limits = [{ key: 'user:1', running: 1 }];
    const rated = [{ key: 'api', rate: '1/30m' }] as const;
    const one = await millrace.enqueue(limited, {}, { limits });
    const two = await millrace.enqueue(limited, {}, { limits });
    await millrace.enqueue(limited, {}, { limits: [...rated] });
    const four = await millrace.enqueue(limited, {}, { limits: [...rated] });
    // The first token of a rate is given out in a moment.
    await expect
      .poll(() => millrace.queues.limits({ queue }).toArray())
      .toMatchObject([
        { key: 'api', running: 1, limit: null, rate: { count: 1, perSecs: 1_800, burst: 1 }, waiting: 1 },
        { key: 'user:1', running: 1, limit: 1, rate: null, waiting: 1, oldest: expect.any(Date) },
      ]);
    expect(await millrace.jobs.why(two.id)).toMatchObject({
      reason: 'limited',
      message: '1 of 1 running for user:1; it is the next of that key.',
      limit: { key: 'user:1', running: 1, limit: 1 },
    });
    expect(await millrace.jobs.why(four.id)).toMatchObject({ reason: 'rate_limited', ahead: 0 });
    expect(await millrace.jobs.why(one.id)).toMatchObject({ reason: 'no_worker' });
  });

  it('shows a queue, and who works on it', async () => {
    const { millrace } = stage;
    const queue = freshQueue();
    const [plain, other] = [task({ name: 'plain', queue }), task({ name: 'other', queue })];
    for (const each of [plain, plain, other]) await millrace.enqueue(each);
    const last = await millrace.enqueue(plain, {}, { priority: 5 });
    await millrace.enqueue(other, {}, { delay: '1h' });
    const offer = { worker_id: 'w2', slots: 3, tasks: ['plain'] };
    const [first] = await lease(stage, queue, { ...offer, max_jobs: 1 });
    expect(first!.job.id).toBe(last.id);
    const [second] = await lease(stage, queue, { ...offer, max_jobs: 1 });
    await stage.work(`/jobs/${first!.job.id}/complete`, { lease_token: first!.lease_token });
    const detail = await millrace.queues.get(queue);
    expect(detail).toMatchObject({
      ...{ name: queue, pending: 2, scheduled: 1, running: 1, retrying: 0, settings: null },
      ...{ byTaskExact: true, slots: { offered: 3, inUse: 1 }, lastLeaseAt: expect.any(Date) },
    });
    expect(new Set(detail.byTask)).toEqual(
      new Set([
        { task: 'plain', waiting: 1, scheduled: 0, running: 1 },
        { task: 'other', waiting: 1, scheduled: 1, running: 0 },
      ]),
    );
    expect(detail.next.map((each) => each.task)).toEqual(['plain', 'other', 'other']);
    await expect
      .poll(async () => (await millrace.queues.workers()).find(({ id }) => id === 'w2'))
      .toMatchObject({ queue, running: 1, completed: 1, failed: 0, expired: 0, slots: 3, tasks: ['plain'] });
    expect(await millrace.queues.get(freshQueue())).toMatchObject({ pending: 0, next: [], slots: null });
    await stage.work(`/jobs/${second!.job.id}/complete`, { lease_token: second!.lease_token });
  });

  it('puts failures of the same kind together', async () => {
    const { millrace } = stage;
    const queue = freshQueue();
    const broken = task({ name: 'broken', queue, input: type<{ error: string }>() });
    const errors = [
      'charge ch_3Mml2 of 42 failed\nat line 3',
      'charge ch_17 of 7.5 failed',
      'cannot read "uploads/a 1.png"',
      "cannot read 'b.JPEG'",
      'no such file: /tmp/x/y-1.csv',
      'no such file: other.tsv',
      'timeout after 3000 ms at 0xfe12 for 5f2b9c1e-0000-4000-8000-00000000000a',
      'timeout after 1 ms at 0x1 for 00000000-0000-4000-8000-00000000000a',
      'id abcdef0123456789abcd is not data.json',
    ];
    for (const error of errors) await millrace.enqueue(broken, { error });
    await workOff(stage, queue, [broken.handle(({ error }) => fails(error)())]);
    const groups = await millrace.deadLetters.groups({ queue }).toArray();
    expect(groups.map(({ message, count }) => [message, count]).sort()).toEqual(
      [
        ['charge ch_<id> of <n> failed', 2],
        ['cannot read "<file>"', 1],
        ["cannot read '<file>'", 1],
        ['no such file: <file>', 2],
        ['timeout after <n> ms at <id> for <id>', 2],
        ['id <id> is not data.json', 1],
      ].sort(),
    );
    const [group] = groups.filter(({ count }) => count === 2);
    const letters = await millrace.deadLetters.list({ fingerprint: group!.fingerprint }).toArray();
    expect(letters.map(({ id }) => id)).toContain(group!.latestId);
  });

  /** An operation, once it has done its work. */
  const ended = async (id: string) => {
    const { operations } = stage.millrace;
    await expect.poll(async () => (await operations.get(id)).status).toBe('completed');
    return operations.get(id);
  };

  it('cancels, replays and resumes in bulk', async () => {
    const { millrace } = stage;
    const { operations } = millrace;
    const queue = freshQueue();
    const [plain, broken] = [task({ name: 'plain', queue }), task({ name: 'broken', queue })];
    const jobs = [await millrace.enqueue(plain), await millrace.enqueue(plain)];
    await millrace.enqueue(broken);
    const flow = workflow({ name: `flow-${queue}` }).step('only', broken, {});
    const run = await millrace.start(flow, {});
    const cancelling = { filter: { queue, task: 'plain' } };
    expect(await operations.previewCancelJobs(cancelling)).toMatchObject({
      matched: { n: 2, exact: true },
      sample: expect.arrayContaining([expect.objectContaining({ id: jobs[0]!.id, task: 'plain', queue })]),
    });
    const cancelled = await operations.cancelJobs(cancelling, { key: `cancel-${queue}` });
    expect((await operations.cancelJobs(cancelling, { key: `cancel-${queue}` })).id).toBe(cancelled.id);
    expect(await ended(cancelled.id)).toMatchObject({ action: 'cancel_jobs', done: 2, changed: 2, skipped: 0 });
    expect(await jobs[0]!.get()).toMatchObject({ status: 'cancelled' });
    const again = await operations.cancelJobs({ ids: jobs.map(({ id }) => id) });
    expect(await ended(again.id)).toMatchObject({ matched: { n: 2 }, changed: 0, skipped: 2 });

    await workOff(stage, queue, [broken.handle(fails('no'))]);
    const replayed = await ended((await operations.replayDeadLetters({ filter: { queue } })).id);
    expect(replayed).toMatchObject({ changed: 2, outcome: { completed: 0, failed: 0, unfinished: 2 } });
    expect(await operations.previewResumeWorkflows({ filter: { name: flow.name } })).toMatchObject({
      matched: { n: 1 },
      sample: [{ id: run.id, name: flow.name }],
    });
    const resumed = await ended((await operations.resumeWorkflows({ filter: { name: flow.name } })).id);
    expect(resumed).toMatchObject({ action: 'resume_workflows', changed: 1 });
    await workOff(stage, queue, [broken.handle(() => undefined)]);
    await run.result();
    const listed = await operations.list().toArray();
    expect(listed.map(({ id }) => id)).toEqual(expect.arrayContaining([cancelled.id, replayed.id, resumed.id]));
    await expect(operations.stop(cancelled.id)).rejects.toBeInstanceOf(AlreadyFinishedError);
    await expect(operations.get(jobs[0]!.id)).rejects.toBeInstanceOf(NotFoundError);
  });

  it('finds jobs by error and metadata, makes them due, and creates them anew', async () => {
    const { millrace } = stage;
    const { operations } = millrace;
    const queue = freshQueue();
    const [plain, broken] = [task({ name: 'plain', queue }), task({ name: 'broken', queue })];
    const full = await millrace.enqueue(broken);
    await workOff(stage, queue, [broken.handle(fails('Disk full on 7'))]);
    const later = await millrace.enqueue(plain, {}, { delay: '1h', metadata: { source: 'signup' } });
    await millrace.enqueue(plain, {}, { delay: '1h', metadata: { source: 'import' } });
    const ids = async (filter: { error?: string; metadata?: Record<string, string> }) =>
      (await millrace.jobs.list({ queue, ...filter }).toArray()).map(({ id }) => id);
    expect(await ids({ error: 'disk FULL' })).toEqual([full.id]);
    expect(await ids({ metadata: { source: 'signup' } })).toEqual([later.id]);
    expect(await ids({ metadata: { source: 'sign' } })).toEqual([]);

    const waiting = { filter: { queue, metadata: { source: 'signup' } } };
    const one = { matched: { n: 1, exact: true } };
    expect(await operations.previewRunJobsNow(waiting)).toMatchObject({ ...one, sample: [{ id: later.id }] });
    const due = await ended((await operations.runJobsNow(waiting)).id);
    expect(due).toMatchObject({ action: 'run_jobs_now', changed: 1 });
    expect((await lease(stage, queue, { max_jobs: 5 })).map(({ job }) => job.id)).toEqual([later.id]);

    const failed = { filter: { queue, error: 'disk full' } };
    expect(await operations.previewRerunJobs(failed)).toMatchObject({ ...one, sample: [{ id: full.id }] });
    const anew = await ended((await operations.rerunJobs(failed)).id);
    expect(anew).toMatchObject({ action: 'rerun_jobs', changed: 1, outcome: { unfinished: 1 } });
    expect(await ids({ metadata: { rerun_of: full.id } })).toHaveLength(1);
  });

  it.each([
    { action: 'cancel_jobs' },
    { action: 'cancel_jobs', filter: {} },
    { action: 'cancel_jobs', filter: { name: 'x' } },
    { action: 'cancel_jobs', filter: { status: 'odd' } },
    { action: 'cancel_jobs', filter: { queue: 'x' }, ids: [] },
    { action: 'cancel_jobs', filter: { queue: 'x' }, keep_checkpoints: true },
    { action: 'replay_dead_letters', filter: { task: 'x' } },
    { action: 'drop_jobs', filter: { queue: 'x' } },
  ])('refuses the bulk work %j', async (body) => {
    expect(await stage.call('POST', '/operations', body)).toMatchObject({
      status: 400,
      body: { code: 'invalid_request' },
    });
  });

  it('counts what there is', async () => {
    const { millrace } = stage;
    const queue = freshQueue();
    const plain = task({ name: 'plain', queue, retries: { delay: '1h' } });
    for (let n = 0; n < 4; n++) await millrace.enqueue(plain);
    await millrace.enqueue(plain, {}, { delay: '1h' });
    const [one, two] = await lease(stage, queue, { max_jobs: 3 });
    await stage.work(`/jobs/${one!.job.id}/fail`, { lease_token: one!.lease_token, error: 'no', retryable: false });
    await stage.work(`/jobs/${two!.job.id}/fail`, { lease_token: two!.lease_token, error: 'no' });
    const { body } = await stage.call('GET', `/counts?queue=${queue}`);
    const { jobs, dead_letters } = body;
    expect([jobs.pending.n, jobs.scheduled.n, jobs.running.n, jobs.retrying.n]).toEqual([1, 1, 1, 1]);
    expect(dead_letters).toEqual({ n: 1, exact: true });
    const all = (await stage.call('GET', '/counts')).body;
    expect(Object.keys(all.workflows)).toHaveLength(6);
    expect(all.jobs.failed.n).toBeGreaterThan(0);
  });

  it('fires schedules by the clock of their time zone', async () => {
    const { schedules } = stage.millrace;
    const nightly = { cron: '30 2 * * *', timezone: 'America/New_York', task: task({ name: 'sweep' }) };
    const put = await schedules.put({ ...nightly, name: 'zoned' });
    expect(put).toMatchObject({ timezone: 'America/New_York' });
    expect(['06:30', '07:30']).toContain(put.nextRunAt!.toISOString().slice(11, 16));
    expect(await schedules.put({ ...nightly, name: 'zoned' })).toEqual(put);
    const moved = await schedules.put({ ...nightly, name: 'zoned', timezone: 'Asia/Kolkata' });
    expect(moved.nextRunAt!.toISOString().slice(11, 16)).toBe('21:00');
    expect((await schedules.next('zoned', 2)).map((at) => at.toISOString().slice(11, 16))).toEqual(['21:00', '21:00']);
    await expect(schedules.put({ ...nightly, name: 'odd', timezone: 'Mars/Base' })).rejects.toThrow(
      'must be a name of the IANA time zone database',
    );
    await expect(schedules.put({ ...nightly, name: 'past', cron: '0 0 0 1 1 * 1999' })).rejects.toBeInstanceOf(
      InvalidRequestError,
    );
    await expect(schedules.preview('0 0 0 1 1 * 1999')).rejects.toThrow('its last occurrence has passed');
    await schedules.delete('zoned');
  });
});
