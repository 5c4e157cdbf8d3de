import pg from 'pg';
import { afterAll, describe, expect, it } from 'vitest';
import { inspect } from '../src/store/migrations/inspect.js';
import { migrate } from '../src/store/migrations/migrate.js';
import { installOutbox } from '../src/store/outbox/installation.js';
import { outboxStatus, pruneOutbox, retryRefused } from '../src/store/outbox/upkeep.js';
import { lease } from './engine/kit.js';
import { drained, enqueuing, jobsOf, payloadNumbers, startTestRelay } from './relay/kit.js';
import { statements } from './store/statements.js';
import { useOldestPostgres } from './support/oldest-postgres.js';
import { startTestServer } from './support/server.js';
import { until } from './support/until.js';

/** The oldest version that the documents promise, on both sides; all other tests run on the newest. */
const postgres = await useOldestPostgres();
const [own, application] = [await postgres.createDatabase(), await postgres.createDatabase()];
await migrate(own.url);
const server = await startTestServer({ database: own, config: { mode: 'api' } });
afterAll(async () => {
  await server.stop();
  await own.drop();
  await application.drop();
});
const { a, worker } = server;

describe('PostgreSQL 13', () => {
  it('is what answers', async () => {
    expect(await own.query('SELECT current_setting($1) AS version', ['server_version_num'])).toEqual([
      { version: expect.stringMatching(/^13/) },
    ]);
  });

  it('takes every statement of the service', async () => {
    const client = new pg.Client({ connectionString: own.url });
    await client.connect();
    const refused: string[] = [];
    for (const { name, text } of statements())
      await client
        .query(`PREPARE ${name} AS ${text}`)
        .catch((error: Error) => refused.push(`${name}: ${error.message}`));
    await client.end();
    expect(refused).toEqual([]);
  });

  it('runs jobs, with limits too, workflows and schedules, and has its invariants', async () => {
    const config = { queue: 'q', limits: [{ key: 'k', running: 1 }] };
    await a.post('/api/v1/jobs/batch', {
      jobs: [
        { task_name: 't', config: { queue: 'q' } },
        { task_name: 't', config },
      ],
    });
    const steps = [
      { name: 'one', task_name: 't', queue: 'q' },
      { name: 'two', task_name: 't', queue: 'q', after: ['one'] },
    ];
    const workflow = (await a.post('/api/v1/workflows', { name: 'w', steps })).body.workflow_id as string;
    expect((await a.post('/api/v1/cron', { name: 'c', cron_expr: '0 0 * * *', task_name: 't' })).status).toBe(201);
    await until(
      async () => {
        for (const { job, lease_token } of await lease(worker, 'q', { max_jobs: 10 }))
          await worker.post(`/api/v1/jobs/${job.id}/complete`, { lease_token, result: { ok: true } });
        return (await a.get(`/api/v1/workflows/${workflow}`)).body.status === 'completed';
      },
      { what: 'the workflow to complete' },
    );
    const { body } = await a.get('/api/v1/jobs?status=completed&include_total=true');
    expect(body.total).toBe(4);
    for (const path of ['queues', 'counts', 'stats', 'series', 'workers', 'limits', 'dlq/groups', 'jobs?error=timed'])
      expect([path, (await a.get(`/api/v1/${path}`)).status]).toEqual([path, 200]);
    const { checks } = await inspect(own.url);
    expect([checks.length > 10, checks.filter(({ violations }) => violations > 0)]).toEqual([true, []]);
  });

  it('holds an outbox, whose entries become jobs or are set aside', async () => {
    expect((await installOutbox(application.url, { app: [], relay: [] })).applied).toEqual([1, 2, 3]);
    const { put, many } = enqueuing(application);
    await many('mail', 5);
    await put(`enqueue('t', '{"n": 6}', queue => 'mail', config => '{"max_retries": 1001}', run_at => now())`);
    await put(
      `enqueue_workflow('{"name": "from the outbox", "steps": [{"name": "s", "task_name": "t"}]}', key => 'w')`,
    );
    expect(await put(`first_time('effect')`)).toEqual([{ id: true }]);
    const relay = await startTestRelay(application.url, server.url);
    await drained(application);
    await relay.stop();
    expect(payloadNumbers(await jobsOf(a, 'mail'))).toEqual([1, 2, 3, 4, 5]);
    expect((await a.get('/api/v1/workflows?name=from%20the%20outbox')).body.workflows).toHaveLength(1);
    expect(await outboxStatus(application.url)).toMatchObject({ waiting: 0, refused: 1 });
    expect(await retryRefused(application.url, null)).toBe(1);
    expect(await pruneOutbox(application.url, 0, -1)).toEqual({ refused: 0, handled: 1 });
  });
});
