import { afterAll, describe, expect, it } from 'vitest';
import { controlClock } from '../support/clock.js';
import { cloneDatabase } from '../support/database.js';
import { spawnServer, type ServingProcess } from '../support/processes.js';
import { startTestServer } from '../support/server.js';
import { createJob, getJob, waitFor } from './kit.js';

/** What only separate processes can show: being killed, and being asked to stop. */
describe('worker processes', async () => {
  const database = await cloneDatabase();
  const clock = await controlClock(database);
  // Leases run out when the test says so, not while this machine is held up.
  await clock.freeze();
  const api = await startTestServer({ database, config: { mode: 'api' } });
  const { a } = api;
  afterAll(async () => {
    await api.stop();
    await database.drop();
  });

  const spawnWorker = (...args: string[]): Promise<ServingProcess> =>
    spawnServer({ args: ['--mode=worker', '--workers=2', ...args], env: { DATABASE_URL: database.url } });
  const sleeping = async (config: object = {}): Promise<string> => {
    const id = await createJob(a, 'default', { task_name: 'sleep', payload: { seconds: 600 }, config });
    await waitFor(a, id, 'running');
    return id;
  };

  it('one that is killed loses its jobs to the others, under the retry policy', async () => {
    const worker = await spawnWorker();
    const id = await sleeping({ retry_delay_secs: 3600, max_retries: 1 });
    const last = await sleeping({ max_retries: 0 });
    worker.signal('SIGKILL');
    expect(await worker.exited).toMatchObject({ signal: 'SIGKILL' });
    expect((await getJob(a, id)).status).toBe('running');
    await clock.advance(31);
    expect(await waitFor(a, id, 'retrying')).toMatchObject({ retry_count: 1, error_message: 'lease expired' });
    expect(await waitFor(a, last, 'failed')).toMatchObject({ retry_count: 0, delivery_count: 1 });
  });

  it('one that is asked to stop gives its jobs back and exits with 0', async () => {
    const [first, second] = await Promise.all([spawnWorker('--shutdown-secs=0.3'), spawnWorker('--shutdown-secs=0.3')]);
    const ids = [await sleeping(), await sleeping(), await sleeping()];
    first.signal('SIGTERM');
    second.signal('SIGTERM');
    expect(await first.exited).toMatchObject({ code: 0 });
    expect(await second.exited).toMatchObject({ code: 0 });
    // The first one to stop may have passed a job to the other, which gave it back in turn.
    for (const id of ids) {
      const job = await getJob(a, id);
      expect(job).toMatchObject({ status: 'pending', retry_count: 0, error_message: null });
      expect(job.delivery_count).toBeGreaterThanOrEqual(1);
    }
  });
});
