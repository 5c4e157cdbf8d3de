import { afterAll, describe, expect, it } from 'vitest';
import type { Client, Reply } from '../../support/client.js';
import { cloneDatabase } from '../../support/database.js';
import { startTestServer, TENANT_A } from '../../support/server.js';
import { connectionOf } from '../../support/pooled.js';
import { pino } from 'pino';
import { createEngine } from '../../../src/engine/engine.js';
import { engineMetrics } from '../../../src/wiring/engine-metrics.js';
import { Database } from '../../../src/store/connection/database.js';
import { Metrics } from '../../../src/telemetry/metrics.js';
import { cancel, complete, createJob, fail, getJob, lease, leaseOne, newQueue, report, type Leased } from '../kit.js';

/** Two processes on one database: what is reported to one is seen in the streams of the other. */
const database = await cloneDatabase();
const config = { mode: 'api' as const };
const [one, two] = [await startTestServer({ database, config }), await startTestServer({ database, config })];
const { a, b, worker } = one;
afterAll(async () => {
  await Promise.all([one.stop(), two.stop()]);
  await database.drop();
});

const beat = (leased: Leased, progress: unknown): Promise<Reply> => report(worker, 'heartbeat', leased, { progress });

interface Event {
  readonly name: string;
  readonly data: string;
}

/** The events of a stream, as they come. */
async function* eventsOf(client: Client, id: string): AsyncGenerator<Event> {
  const response = await client.open('GET', `/api/v1/jobs/${id}/events`);
  expect(response.status).toBe(200);
  let buffer = '';
  for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
    buffer += chunk;
    const blocks = buffer.split('\n\n');
    buffer = blocks.pop() ?? '';
    for (const block of blocks) {
      const parts = /^event: (.*)\ndata: (.*)$/.exec(block);
      if (parts) yield { name: parts[1]!, data: parts[2]! };
    }
  }
}

const next = async (events: AsyncGenerator<Event>): Promise<Event> => {
  const { value, done } = await events.next();
  expect(done).not.toBe(true);
  return value as Event;
};

describe('the progress of a running attempt', () => {
  it('is shown on the job as it was sent, until the attempt ends', async () => {
    const queue = newQueue();
    const id = await createJob(a, queue, { config: { retry_delay_secs: 0 } });
    const first = await leaseOne(worker, queue);
    expect((await beat(first, { done: 1 })).body).toEqual({ status: 'running' });
    expect((await getJob(a, id)).progress).toEqual({ done: 1 });
    const sent = `{"lease_token":"${first.lease_token}","progress":{ "of": 12345678901234567890, "n":1.10}}`;
    await worker.post(`/api/v1/jobs/${id}/heartbeat`, sent);
    expect((await a.get(`/api/v1/jobs/${id}`)).text).toContain('"progress":{ "of": 12345678901234567890, "n":1.10}');
    expect((await a.get(`/api/v1/jobs?queue=${queue}`)).text).toContain('"progress":{ "of": 12345678901234567890');
    for (const nothing of [undefined, null]) await beat(first, nothing);
    expect((await getJob(a, id)).progress).toMatchObject({ n: 1.1 });
    await fail(worker, first);
    expect(await getJob(a, id)).toMatchObject({ status: 'retrying', progress: null });
    const second = await leaseOne(worker, queue);
    expect(second.job.progress).toBeNull();
    expect((await getJob(a, id)).progress).toBeNull();
    await beat(second, { done: 2 });
    expect((await beat(first, { done: 99 })).body.code).toBe('lease_lost');
    expect((await getJob(a, id)).progress).toEqual({ done: 2 });
    await complete(worker, second);
    expect((await getJob(a, id)).progress).toBeNull();
    expect((await beat(second, { done: 3 })).body).toEqual({ status: 'completed' });
    expect((await getJob(a, id)).progress).toBeNull();
    expect((await b.get(`/api/v1/jobs/${id}`)).body.code).toBe('forbidden');
  });

  it('holds 16 KiB of JSON', async () => {
    const queue = newQueue();
    const id = await createJob(a, queue);
    const leased = await leaseOne(worker, queue);
    const sized = (bytes: number): string => `{"s":"${'é'.repeat((bytes - 8) / 2)}"}`;
    const send = (text: string): Promise<Reply> =>
      worker.post(`/api/v1/jobs/${id}/heartbeat`, `{"lease_token":"${leased.lease_token}","progress":${text}}`);
    expect((await send(sized(16_384))).body).toEqual({ status: 'running' });
    const refused = await send(sized(16_386));
    expect([refused.status, refused.body.code, refused.body.details[0].path]).toEqual([
      413,
      'payload_too_large',
      'progress',
    ]);
    expect(JSON.stringify((await getJob(a, id)).progress).length).toBeGreaterThan(8_000);
  });

  it('is sent to the streams of the job, of every process, between its states', async () => {
    const queue = newQueue();
    const id = await createJob(a, queue, { config: { retry_delay_secs: 0, max_retries: 1 } });
    const [here, there] = [eventsOf(a, id), eventsOf(two.a, id)];
    for (const events of [here, there]) expect((await next(events)).name).toBe('status');
    for (let attempt = 1; attempt <= 2; attempt++) {
      const leased = await leaseOne(worker, queue);
      for (const events of [here, there]) {
        const { name, data } = await next(events);
        expect(name).toBe('status');
        expect(JSON.parse(data)).toMatchObject({
          status: 'running',
          delivery_count: attempt,
          lease_expires_at: leased.job.lease_expires_at,
          progress: null,
        });
      }
      for (const done of [1, 2]) {
        await beat(leased, { attempt, done });
        for (const events of [here, there]) {
          expect(await next(events)).toEqual({ name: 'progress', data: JSON.stringify({ attempt, done }) });
        }
      }
      await fail(worker, leased);
      for (const events of [here, there]) {
        const { name, data } = await next(events);
        expect([name, (JSON.parse(data) as { status: string }).status]).toEqual([
          'status',
          attempt === 1 ? 'retrying' : 'failed',
        ]);
      }
    }
    for (const events of [here, there]) expect((await events.next()).done).toBe(true);
  });

  it('that was reported before a stream began is in its first state, and not sent again', async () => {
    const queue = newQueue();
    const id = await createJob(a, queue);
    const leased = await leaseOne(worker, queue);
    await beat(leased, { done: 1 });
    const events = eventsOf(a, id);
    expect(JSON.parse((await next(events)).data)).toMatchObject({ status: 'running', progress: { done: 1 } });
    await beat(leased, { done: 2 });
    expect(await next(events)).toEqual({ name: 'progress', data: '{"done":2}' });
    await cancel(a, id);
    expect(JSON.parse((await next(events)).data)).toMatchObject({ status: 'cancelled', progress: null });
    expect((await events.next()).done).toBe(true);
  });

  it('that comes fast is told together, and the last of it always', async () => {
    const queue = newQueue();
    const id = await createJob(a, queue);
    const leased = await leaseOne(worker, queue);
    const events = eventsOf(two.a, id);
    await next(events);
    // Ten at a time, so that they come fast on any machine; the last comes alone.
    const last = 60;
    const sending = (async () => {
      for (let done = 10; done < last; done += 10) {
        await Promise.all(Array.from({ length: 10 }, (_, n) => beat(leased, { done, n })));
      }
      await beat(leased, { done: last });
    })();
    let told = 0;
    for (let seen = 0; seen < last; told++) {
      const { done } = JSON.parse((await next(events)).data) as { done: number };
      expect(done).toBeGreaterThanOrEqual(seen);
      seen = done;
    }
    await sending;
    expect(told).toBeLessThan(51);
    await events.return(undefined);
  });

  it('is forgotten by the sweep once its attempt has ended, and not before', async () => {
    const queue = newQueue();
    await Promise.all([createJob(a, queue), createJob(a, queue), createJob(a, queue)]);
    const [runs, ended, again] = await lease(worker, queue, { max_jobs: 3 });
    for (const leased of [runs!, ended!, again!]) await beat(leased, { done: 1 });
    await complete(worker, ended!);
    await fail(worker, again!, { retry_after_secs: 0 });
    await leaseOne(worker, queue);
    const left = async (): Promise<unknown[]> => {
      const ids = [runs!, ended!, again!].map(({ job }) => job.id);
      const rows = await database.query('SELECT job_id FROM millrace.progress WHERE job_id = ANY ($1)', [ids]);
      return rows.map(({ job_id }) => job_id);
    };
    await database.query(`UPDATE millrace.progress SET at = at - interval '2 minutes'`);
    const metrics = new Metrics();
    const db = new Database({
      ...connectionOf(database.homeOf(TENANT_A).url),
      maxConnections: 4,
      logger: pino({ level: 'silent' }),
    });
    const { maintenance } = createEngine({
      db,
      metrics: engineMetrics(metrics),
      tasks: [],
      defaultQueue: 'default',
      maxPayloadBytes: 1_000_000,
      ready: async () => true,
    });
    await maintenance.forgetTraces();
    metrics.close();
    await db.close();
    expect(await left()).toEqual([runs!.job.id]);
    expect((await getJob(a, runs!.job.id)).progress).toEqual({ done: 1 });
  });
});
