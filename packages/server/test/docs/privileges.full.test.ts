import { randomBytes } from 'node:crypto';
import { expect, it, onTestFinished } from 'vitest';
import { migrate } from '../../src/store/migrations/migrate.js';
import { emptyDatabase } from '../support/database.js';
import { startTestServer } from '../support/server.js';
import { until } from '../support/until.js';
import { readRepositoryFile } from './generated.js';

/** The two roles of docs/operations.md, created by the statements given there, under names unique to this run. */
async function rolesFromTheDocument() {
  const [, statements = ''] = /^```sql\n([^]*?)^```$/m.exec(readRepositoryFile('docs/operations.md')) ?? [];
  const suffix = randomBytes(6).toString('hex');
  const [owner, app] = [`owner_${suffix}`, `app_${suffix}`];
  const database = await emptyDatabase();
  onTestFinished(async () => {
    for (const role of [app, owner]) await database.query(`DROP OWNED BY ${role}`);
    await database.query(`DROP ROLE ${owner}, ${app}`);
    await database.drop();
  });
  await database.query(statements.replaceAll('millrace_owner', owner).replaceAll('millrace_app', app));
  const as = (role: string, password: string): string => {
    const url = new URL(database.url);
    [url.username, url.password] = [role, password];
    return url.href;
  };
  return { database, owner: as(owner, 'change-me'), app: as(app, 'change-me-too'), appRole: app };
}

it('the serving role of docs/operations.md can serve and cannot change the schema', async () => {
  const { database, owner, app, appRole } = await rolesFromTheDocument();
  await migrate(owner);
  const server = await startTestServer({
    database: { ...database, url: app },
    config: { autoMigrate: false, retentionHours: 1 },
  });
  onTestFinished(() => server.stop());
  const { a, worker } = server;

  const ids = [
    (await a.post('/api/v1/jobs', { task_name: 'echo' }, { 'idempotency-key': 'k' })).body.job_id,
    (await a.post('/api/v1/jobs', { task_name: 'fail', payload: { permanent: true } })).body.job_id,
    (await a.post('/api/v1/jobs', { task_name: 't', config: { queue: 'q' } })).body.job_id,
    (await a.post('/api/v1/jobs', { task_name: 't', config: { queue: 'never' } })).body.job_id,
  ] as string[];
  const events = await a.open('GET', `/api/v1/jobs/${ids[2]}/events`);
  const leased = await worker.post('/api/v1/queues/q/lease', { lease_secs: 3_600 });
  const { lease_token } = leased.body.jobs[0] as { lease_token: string };
  const beat = { lease_token, extend_secs: 3_600 };
  expect((await worker.post(`/api/v1/jobs/${ids[2]}/heartbeat`, beat)).status).toBe(200);
  expect((await worker.post(`/api/v1/jobs/${ids[2]}/complete`, { lease_token })).status).toBe(204);
  expect(await events.text()).toContain('"status":"completed"');
  expect((await a.post(`/api/v1/jobs/${ids[3]}/cancel`)).status).toBe(204);

  const letter = await until(
    async () => (await a.get('/api/v1/dlq')).body.dead_letters[0] as { id: number } | undefined,
  );
  expect((await a.post(`/api/v1/dlq/${letter.id}/replay`)).status).toBe(201);
  const flow = await a.post('/api/v1/workflows', { name: 'w', steps: [{ name: 's', task_name: 'echo' }] });
  await until(async () => (await a.get(`/api/v1/workflows/${flow.body.workflow_id}`)).body.status === 'completed');
  const cron = await a.post('/api/v1/cron', { name: 'c', cron_expr: '* * * * * *', task_name: 'echo' });
  await until(async () => (await a.get(`/api/v1/cron/${cron.body.cron_id}`)).body.last_enqueued_at !== null);
  expect((await a.delete(`/api/v1/cron/${cron.body.cron_id}`)).status).toBe(204);
  expect((await a.get('/api/v1/queues')).status).toBe(200);
  // A slow machine has other troubles to log.
  const troubles = server.log().filter((line) => /permission denied|must be owner/.test(JSON.stringify(line)));
  expect(troubles).toEqual([]);

  await expect(
    database.query(`DO $$ BEGIN SET LOCAL ROLE ${appRole}; DROP TABLE millrace.jobs; END $$`),
  ).rejects.toThrow('must be owner');
  await expect(
    database.query(`DO $$ BEGIN SET LOCAL ROLE ${appRole}; CREATE TABLE millrace.x (); END $$`),
  ).rejects.toThrow('permission denied');
});
