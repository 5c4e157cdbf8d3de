import type { QueueDepth } from '@millrace/contract';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { useTestServer } from '../../support/server.js';
import { until } from '../../support/until.js';
import { createJob, newQueue } from '../kit.js';

/** From here on depths are counted now and then, not for everyone who asks. */
const MANY = 100_000;

describe('depths of long queues', async () => {
  const { a, b, admin, database } = await useTestServer({ config: { mode: 'api' } });
  const depthOf = async (queue: string, client = a): Promise<QueueDepth | undefined> =>
    ((await client.get('/api/v1/queues')).body.queues as QueueDepth[]).find((depth) => depth.queue === queue);

  /** What is counted over all tenants is kept as well, and what is paused is not. */
  const expectKeptForOperators = async (queue: string): Promise<void> => {
    const overview = async () => (await admin.get('/api/v1/admin/overview')).body;
    const depth = async () =>
      ((await admin.get('/api/v1/admin/queues')).body.queues as QueueDepth[]).find((each) => each.queue === queue);
    const counted = await overview();
    // One count serves both: their figures agree whatever happens in between.
    await createJob(a, queue);
    const before = await depth();
    expect(counted).toMatchObject({ paused_queues: [queue] });
    expect(before).toMatchObject({ paused_at: expect.any(String), pending: counted.jobs.pending.n });
    await createJob(a, queue);
    await admin.post(`/api/v1/admin/queues/${queue}/resume`);
    expect(await overview()).toMatchObject({ now: counted.now, jobs: counted.jobs, paused_queues: [] });
    expect(await depth()).toMatchObject({ pending: before!.pending, paused_at: null });
    await admin.post(`/api/v1/admin/queues/${queue}/pause`);
  };

  it('are counted again after a second or two, with what is cheap to know as it is now', async () => {
    const queue = newQueue();
    await createJob(a, queue);
    await createJob(a, queue);
    expect(await depthOf(queue)).toMatchObject({ pending: 2 });
    await database.query(
      `INSERT INTO millrace.ready (scheduled_at, priority, retry_count, delivery_count, id, tenant, queue)
       SELECT now() - interval '1 hour', 0, 0, 0, gen_random_uuid(), 'tenant-a', $1 FROM generate_series(1, $2::int)`,
      [queue, MANY],
    );
    let ms = performance.now();
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => ms);
    onTestFinished(() => clock.mockRestore());
    expect(await depthOf(queue)).toMatchObject({ pending: MANY + 2, paused_at: null });

    await createJob(a, queue);
    await admin.post(`/api/v1/admin/queues/${queue}/pause`);
    expect(await depthOf(queue)).toMatchObject({ pending: MANY + 2, paused_at: expect.any(String) });
    expect((await a.get(`/api/v1/queues/${queue}`)).body).toMatchObject({ pending: MANY + 2 });
    await expectKeptForOperators(queue);

    // Older than its second: it is still given, and the next one is counted meanwhile.
    ms += 1_500;
    expect(await depthOf(queue)).toMatchObject({ pending: MANY + 2 });
    await until(async () => (await depthOf(queue))?.pending === MANY + 5, { what: 'the next count' });

    await createJob(a, queue);
    ms += 2_500;
    expect(await depthOf(queue)).toMatchObject({ pending: MANY + 6 });
  });

  it('of tenants with fewer jobs are those of this moment', async () => {
    const queue = newQueue();
    for (let n = 1; n < 4; n++) {
      await createJob(b, queue);
      expect(await depthOf(queue, b)).toMatchObject({ pending: n });
    }
  });
});
