import { afterAll, describe, expect, it } from 'vitest';
import { bucketOf } from '../../src/domain/ids.js';
import { inspect, type CheckName } from '../../src/store/migrations/inspect.js';
import { cloneDatabase } from '../support/database.js';
import { startTestServer, TENANT_A } from '../support/server.js';
import { until } from '../support/until.js';
import { createJob, lease, newQueue } from './kit.js';
import { workflowsOf } from './workflows/kit.js';

/** What `doctor` finds. What it does not find while the service is at work: doctor-busy.full.test.ts. */
const database = await cloneDatabase();
const server = await startTestServer({ database, config: { mode: 'api' } });
const { a, worker, admin } = server;
const workflows = workflowsOf(a);
afterAll(async () => {
  await server.stop();
  await database.drop();
});

const found = async (): Promise<[CheckName, readonly string[]][]> =>
  (await inspect(database.url)).checks
    .filter(({ violations }) => violations > 0)
    .map(({ check, examples }) => [check, examples.map(({ subject }) => subject)]);
/** What the check finds after a change to the database, which is taken back afterwards. */
async function findings(change: string, back: string, values: readonly unknown[] = []): Promise<unknown> {
  await database.query(change, values);
  const seen = await found();
  await database.query(back);
  return seen;
}
const share = async (queue: string): Promise<void> => {
  const { status } = await admin.send('PUT', `/api/v1/admin/queues/${queue}`, { body: { share: 'tenant' } });
  expect(status).toBe(200);
};

describe('a database that is wrong', () => {
  it('has a tenant of another cell', async () => {
    await createJob(a, newQueue());
    const bucket = bucketOf(TENANT_A);
    const change = 'UPDATE millrace.cell SET first_bucket = $1, last_bucket = $2';
    const [first, last] = bucket > 32_767 ? [0, bucket - 1] : [bucket + 1, 65_535];
    const seen = await findings(change, 'UPDATE millrace.cell SET first_bucket = 0, last_bucket = 65535', [
      first,
      last,
    ]);
    expect(seen).toContainEqual(['tenant_belongs_here', expect.arrayContaining([TENANT_A])]);
    expect(await found()).toEqual([]);
  });

  it('has a step that waits for a signal which nobody can send to it', async () => {
    const id = await workflows.create([{ name: 'w', wait: { signal: 's', timeout_secs: 3_600 } }]);
    const job = await workflows.jobId(id, 'w');
    expect(await found()).toEqual([]);
    const seen = await findings(
      'UPDATE millrace.waits SET open = false WHERE job_id = $1',
      `UPDATE millrace.waits SET open = true WHERE job_id = '${job}'`,
      [job],
    );
    expect(seen).toEqual([['waiting_step_can_be_told', [`${TENANT_A}/${job}`]]]);
    await workflows.cancel(id);
    expect(await found()).toEqual([]);
  });

  it('has a job in a line that nobody serves', async () => {
    const queue = newQueue();
    await share(queue);
    const id = await createJob(a, queue);
    const inLine = 'SELECT FROM millrace.ready WHERE id = $1 AND waits_for IS NOT NULL';
    await until(async () => (await database.query(inLine, [id])).length === 1, { what: 'the job to be in line' });
    expect(await found()).toEqual([]);
    const seen = await findings(
      'UPDATE millrace.queue_limits SET queue = $2 WHERE queue = $1',
      `UPDATE millrace.queue_limits SET queue = '${queue}' WHERE queue = '${queue}-gone'`,
      [queue, `${queue}-gone`],
    );
    expect(seen).toEqual([['waiting_job_has_a_turn', [`${TENANT_A}/${id}`]]]);
    expect(await lease(worker, queue)).toHaveLength(1);
    expect(await found()).toEqual([]);
  });

  it('has a token of a limit that is not there', async () => {
    const [limit, job] = ['5f0c1a52-6f4b-4b5e-9d6c-0b7f3d1d2a10', '019bd0e5-7c58-7a5f-9c0e-2f9f6a0f8f10'];
    const seen = await findings(
      `INSERT INTO millrace.limit_tokens (admitted_at, limit_id, job_id, tenant) VALUES (now(), $1, $2, 'tenant-a')`,
      `DELETE FROM millrace.limit_tokens WHERE limit_id = '${limit}'`,
      [limit, job],
    );
    expect(seen).toEqual([['token_belongs_to_a_limit', [`${limit}/${job}`]]]);
  });
});
