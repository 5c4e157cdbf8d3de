import type { QueueDetail, Why, Worker } from '@millrace/contract';
import { afterAll, describe, expect, it } from 'vitest';
import { OFFER_SECS } from '../../../src/engine/shared/offers.js';
import type { Client } from '../../support/client.js';
import { cloneDatabase } from '../../support/database.js';
import { startTestServer } from '../../support/server.js';
import { until } from '../../support/until.js';
import { createJob, createJobs, newQueue, report, type Leased } from '../kit.js';
import { inTime, type Time } from '../waiting.js';

/** What workers say of themselves when they ask for jobs, in two processes on one database. */
const database = await cloneDatabase();
const config = { mode: 'api' as const };
const one = await startTestServer({ database, config });
const two = await startTestServer({ database, config });
const { a, worker } = one;
afterAll(async () => {
  await Promise.all([one.stop(), two.stop()]);
  await database.drop();
});

const ask = async (queue: string, body: object, client: Client = worker): Promise<Leased[]> => {
  const reply = await client.post(`/api/v1/queues/${queue}/lease`, body);
  expect(reply.status, reply.text).toBe(200);
  return reply.body.jobs as Leased[];
};
const why = async (id: string, client = a): Promise<Why> => (await client.get(`/api/v1/jobs/${id}/why`)).body as Why;
const detail = async (queue: string, client = a): Promise<QueueDetail> =>
  (await client.get(`/api/v1/queues/${queue}`)).body as QueueDetail;
const workersOf = async (queue: string, client = a): Promise<Worker[]> => {
  const { workers } = (await client.get('/api/v1/workers')).body as { workers: Worker[] };
  return workers.filter(({ queue_name: name }) => name === queue);
};

/** What a process hears first it writes at once, the rest a while later: so all that the other is to know is here. */
async function tell() {
  const [shown, known] = [newQueue(), newQueue()];
  const at = performance.now();
  expect((await detail(shown)).slots).toBeNull();
  await createJobs(a, shown, 3);
  await Promise.all([
    ask(shown, { worker_id: 'w1', max_jobs: 2, slots: 8, tasks: ['resize', 'crop'] }).then(() =>
      ask(shown, { worker_id: 'w2', slots: 3 }),
    ),
    ask(known, { worker_id: 'w1', tasks: ['crop'] }),
  ]);
  return { shown, known, at };
}
let told = await tell();

/** Nobody offers anything any more who has not asked for a while: a test that takes so long begins with new offers. */
const whileOffered = (test: (told: { readonly shown: string; readonly known: string }, time: Time) => Promise<void>) =>
  inTime(OFFER_SECS / 2, async (time) => {
    if (performance.now() - told.at > OFFER_SECS * 500) told = await tell();
    await test(told, time);
  });

describe('slots', () => {
  it('are shown for the worker and its queue, in every process', async () => {
    await whileOffered(async ({ shown: queue }, time) => {
      expect((await detail(queue)).slots).toEqual({ offered: 11, in_use: 3 });
      expect(await workersOf(queue)).toEqual([
        expect.objectContaining({ worker_id: 'w2', slots: 3, tasks: null, running: 1 }),
        expect.objectContaining({ worker_id: 'w1', slots: 8, tasks: ['resize', 'crop'], running: 2 }),
      ]);
      const isKnown = async (): Promise<boolean> => (await detail(queue, two.a)).slots?.offered === 11;
      await until(async () => time.isUp || (await isKnown()), { what: 'the other process to know' });
      const elsewhere = await workersOf(queue, two.a);
      expect(elsewhere.find(({ worker_id: id }) => id === 'w1')).toMatchObject({ slots: 8, tasks: ['resize', 'crop'] });
    });
  });

  it('change with what the worker says, and are clamped', async () => {
    const queue = newQueue();
    await ask(queue, { worker_id: 'w', slots: 8 });
    await ask(queue, { worker_id: 'w', slots: 1_000_000 });
    expect((await detail(queue)).slots).toEqual({ offered: 10_000, in_use: 0 });
    await ask(queue, { worker_id: 'w', slots: -4 });
    expect((await detail(queue)).slots).toEqual({ offered: 1, in_use: 0 });
  });

  it('are refused if they are of another type', async () => {
    const bad = [{ slots: 'many' }, { slots: 1.5 }, { tasks: 'resize' }, { tasks: [''] }, { tasks: [7] }];
    for (const body of [...bad, { tasks: Array.from({ length: 201 }, (_, n) => `t${n}`) }])
      expect((await worker.post(`/api/v1/queues/q/lease`, body)).status).toBe(400);
  });
});

describe('a job whose task nobody knows', () => {
  it('says so, while workers ask that all name their tasks', async () => {
    await whileOffered(async ({ known: queue }, time) => {
      const id = await createJob(a, queue, { task_name: 'resize' });
      expect(await why(id)).toMatchObject({
        reason: 'no_handler',
        message: `A worker has asked for jobs of the queue "${queue}", but knows no task "resize".`,
      });
      const isKnown = async (): Promise<boolean> => (await why(id, two.a)).reason === 'no_handler';
      await until(async () => time.isUp || (await isKnown()), { what: 'the other process to know' });
      await two.worker.post(`/api/v1/queues/${queue}/lease`, { worker_id: 'w2', tasks: ['resize'], max_jobs: 1 });
      const other = await createJob(a, queue, { task_name: 'resize' });
      expect((await why(other, two.a)).reason).toBe('behind');
    });
  });

  it('says so too while it is put off, after it was given back', async () => {
    const queue = newQueue();
    const id = await createJob(a, queue, { task_name: 'resize' });
    const [leased] = await ask(queue, { worker_id: 'w1', tasks: ['crop'] });
    await report(worker, 'release', leased!, { delay_secs: 60 });
    expect(await why(id)).toMatchObject({ reason: 'no_handler', until: expect.any(String) });
  });

  it('is only waiting if a worker did not say what it knows, or gave no name', async () => {
    for (const body of [{ worker_id: 'w2' }, { tasks: ['crop'] }, { worker_id: 'w2', slots: 4 }]) {
      const queue = newQueue();
      await ask(queue, { worker_id: 'w1', tasks: ['crop'] });
      await ask(queue, body);
      expect((await why(await createJob(a, queue, { task_name: 'resize' }))).reason).toBe('behind');
    }
  });
});
