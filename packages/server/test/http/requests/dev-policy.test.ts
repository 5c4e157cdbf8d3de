import { DEFAULT_JOB_CONFIG } from '@millrace/contract';
import { afterAll, describe, expect, it } from 'vitest';
import { DEV_RETRY_DELAY_SECS, givenPolicy } from '../../../src/http/requests/dev-policy.js';
import { createClient, type Client } from '../../support/client.js';
import { cloneDatabase } from '../../support/database.js';
import { KEY_A, startTestServer } from '../../support/server.js';
import { startAnotherServer } from '../../engine/another-server.js';

/** In development nobody waits a minute for a retry; elsewhere the default of the contract holds. */
const database = await cloneDatabase();
const server = await startTestServer({ database, config: { mode: 'api' } });
const other = await startAnotherServer(database, { mode: 'api', dev: true });
const dev = createClient(other.apiUrl!, KEY_A);
afterAll(async () => {
  await other.stop();
  await server.stop();
  await database.drop();
});

const ofJob = async (client: Client, config: object): Promise<any> => {
  const { body } = await client.post('/api/v1/jobs', { task_name: 't', config: { queue: 'q', ...config } });
  return (await client.get(`/api/v1/jobs/${body.job_id}`)).body.config;
};

describe('the delay of retries', () => {
  it('is a second in development, and only there', async () => {
    expect((await ofJob(dev, {})).retry_delay_secs).toBe(DEV_RETRY_DELAY_SECS);
    expect((await ofJob(server.a, {})).retry_delay_secs).toBe(DEFAULT_JOB_CONFIG.retry_delay_secs);
    expect(DEFAULT_JOB_CONFIG.retry_delay_secs).toBeGreaterThan(DEV_RETRY_DELAY_SECS);
  });

  it('is what the request says, and the rest of its policy stays', async () => {
    expect((await ofJob(dev, { retry_delay_secs: 7, max_retries: 5 })).retry_delay_secs).toBe(7);
    expect(await ofJob(dev, { max_retries: 5, retry_delay_secs: null })).toMatchObject({
      ...{ max_retries: 5, retry_delay_secs: DEV_RETRY_DELAY_SECS },
    });
    expect((await ofJob(dev, { retry_delay_secs: 0 })).retry_delay_secs).toBe(0);
  });

  it('holds for batches, steps and schedules too', async () => {
    const batch = await dev.post('/api/v1/jobs/batch', { jobs: [{ task_name: 't', config: { queue: 'q' } }] });
    const [id] = batch.body.job_ids as string[];
    const steps = [{ name: 'one', task_name: 't', queue: 'q' }];
    const { body: flow } = await dev.post('/api/v1/workflows', { name: 'w', steps });
    const [step] = (await dev.get(`/api/v1/workflows/${flow.workflow_id}/steps`)).body.steps;
    for (const job of [id, step.job_id as string])
      expect((await dev.get(`/api/v1/jobs/${job}`)).body.config.retry_delay_secs).toBe(DEV_RETRY_DELAY_SECS);
    const cron = await dev.post('/api/v1/cron', { name: 'c', cron_expr: '@yearly', task_name: 't', queue: 'q' });
    const triggered = await dev.post(`/api/v1/cron/${cron.body.cron_id}/trigger`);
    const fired = (await dev.get(`/api/v1/jobs/${triggered.body.job_id}`)).body;
    expect(fired.config.retry_delay_secs).toBe(DEV_RETRY_DELAY_SECS);
  });

  it('is left alone where nothing is to be said', () => {
    expect(givenPolicy(null, { dev: false } as never)).toBeNull();
    expect(givenPolicy({ retry_delay_secs: 3 }, { dev: true } as never)).toEqual({ retry_delay_secs: 3 });
    expect(givenPolicy(undefined, { dev: true } as never)).toEqual({ retry_delay_secs: DEV_RETRY_DELAY_SECS });
  });
});
