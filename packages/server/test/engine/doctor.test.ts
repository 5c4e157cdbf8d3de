import { afterAll, describe, expect, it } from 'vitest';
import { bucketOf } from '../../src/domain/ids.js';
import { inspect, type CheckName } from '../../src/store/migrations/inspect.js';
import { oneDatabase } from '../support/database.js';
import { startTestServer, TENANT_A } from '../support/server.js';
import { until } from '../support/until.js';
import { createJob, lease, newQueue } from './kit.js';
import { workflowsOf } from './workflows/kit.js';

/** What `doctor` finds. What it does not find while the service is at work: doctor-busy.full.test.ts. */
const database = await oneDatabase();
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
    // Where this took long, the server has noticed that the queue was gone, and has yet to notice that it is back.
    await until(async () => (await lease(worker, queue)).length === 1, { what: 'the job to have its turn' });
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

/** In a database that nobody serves any more, or what is wrong would be put right. */
describe('jobs with limits for which nothing is done any more', async () => {
  const database = await oneDatabase();
  afterAll(() => database.drop());
  const server = await startTestServer({ database, config: { mode: 'api' } });
  const queue = newQueue();
  const limits = [{ key: 'k', running: 1, rate: { count: 1, per_secs: 3_600 } }];
  const asleep = await createJob(server.a, queue, { config: { limits }, delay_secs: 3_600 });
  const [first, second] = [
    await createJob(server.a, queue, { config: { limits } }),
    await createJob(server.a, queue, { config: { limits } }),
  ];
  const inLine = (): Promise<{ id: string }[]> =>
    database.query('SELECT id FROM millrace.ready WHERE waits_for IS NOT NULL');
  await until(async () => {
    const [row] = await database.query<{ n: string }>('SELECT count(*) AS n FROM millrace.limit_notes');
    return row!.n === '0' && (await inLine()).length === 1;
  });
  await server.stop();
  const [{ id: waiting }] = (await inLine()) as [{ id: string }];
  const admitted = waiting === first ? second : first;
  const found = async (): Promise<[CheckName, readonly string[]][]> =>
    (await inspect(database.url)).checks
      .filter(({ violations }) => violations > 0)
      .map(({ check, examples }) => [check, examples.map(({ subject }) => subject)]);

  it.each<[string, string, CheckName, string]>([
    [
      'sleep on after they are due',
      `UPDATE millrace.ready SET scheduled_at = now() - interval '2 hours' WHERE id = '${asleep}'`,
      'sleeping_job_is_woken',
      `${TENANT_A}/${asleep}`,
    ],
    [
      'wait in a line of nobody',
      `UPDATE millrace.ready SET later = false, waits_for = gen_random_uuid() WHERE id = '${admitted}'`,
      'waiting_job_is_in_a_line',
      `${TENANT_A}/${admitted}`,
    ],
    [
      'wait in a line and outside it',
      `UPDATE millrace.ready SET later = NULL WHERE id = '${waiting}'`,
      'waiting_job_is_in_a_line',
      `${TENANT_A}/${waiting}`,
    ],
    [
      'wait for a token that nobody gives them',
      `UPDATE millrace.limits SET next_at = now() - interval '2 hours'`,
      'limit_is_looked_at',
      `${TENANT_A}/${queue}/k`,
    ],
    [
      'are noted at a limit that they do not name',
      `INSERT INTO millrace.limit_notes (given_back, limit_id, job_id, tenant)
       SELECT 0, gen_random_uuid(), millrace.first_id(now() - interval '2 hours'), '${TENANT_A}'`,
      'note_is_about_a_limit',
      TENANT_A,
    ],
  ])('%s', async (_, change, check, subject) => {
    await database.query(`INSERT INTO millrace.loops (name, last_run_at) VALUES ('limits', now())
                          ON CONFLICT (name) DO UPDATE SET last_run_at = now()`);
    expect(await found()).toEqual([]);
    const tables = ['ready', 'limits', 'limit_notes'];
    for (const table of tables) await database.query(`CREATE TABLE kept_${table} AS SELECT * FROM millrace.${table}`);
    await database.query(change);
    const seen = await found();
    for (const table of tables)
      await database.query(
        `DELETE FROM millrace.${table};
         INSERT INTO millrace.${table} SELECT * FROM kept_${table}; DROP TABLE kept_${table}`,
      );
    expect(seen).toContainEqual([check, [expect.stringContaining(subject)]]);
  });
});
