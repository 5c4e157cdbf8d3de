import { afterAll, describe, expect, it } from 'vitest';
import type { Client, Reply } from '../../support/client.js';
import { controlClock } from '../../support/clock.js';
import { cloneDatabase } from '../../support/database.js';
import { startTestServer, TENANT_A } from '../../support/server.js';
import { until } from '../../support/until.js';
import { blockWorkflows } from '../blocking.js';
import { complete, createJob, deadLettersOf, fail, getJob, leaseOne, newQueue, stats } from '../kit.js';

/** Keys of requests other than single jobs, in two processes on one database. */
const database = await cloneDatabase();
const clock = await controlClock(database);
const config = { mode: 'api' as const };
const one = await startTestServer({ database, config });
const two = await startTestServer({ database, config });
const { a, b, worker } = one;
afterAll(async () => {
  await Promise.all([one.stop(), two.stop()]);
  await database.drop();
});

const keyed = (client: Client, path: string, key: string, body?: object): Promise<Reply> =>
  client.post(`/api/v1${path}`, body, { 'idempotency-key': key });
const isReplayed = ({ headers }: Reply): boolean => headers.get('idempotency-replayed') === 'true';
const answerOf = ({ status, text, headers }: Reply): unknown => ({ status, text, location: headers.get('location') });

async function deadLetter(client: Client): Promise<number> {
  const queue = newQueue();
  const id = await createJob(client, queue, { metadata: { mine: 1 } });
  await fail(worker, await leaseOne(worker, queue), { retryable: false });
  const [letter] = await deadLettersOf(client, id);
  return letter!.id;
}

let crons = 0;
async function schedule(client: Client): Promise<string> {
  const body = { name: `s${++crons}`, cron_expr: '0 0 1 1 *', task_name: 't', queue: 'elsewhere' };
  return (await client.post('/api/v1/cron', body)).body.cron_id;
}

interface Kind {
  readonly path: (client: Client) => Promise<string>;
  readonly body?: object;
  /** How often it took effect, for the tenant and path. */
  readonly created: (reply: Reply) => readonly string[];
}

const queue = newQueue();
const jobId = ({ body }: Reply): string[] => [body.job_id as string];
const KINDS: Readonly<Record<string, Kind>> = {
  'POST /jobs': { path: async () => '/jobs', body: { task_name: 't', config: { queue } }, created: jobId },
  'POST /jobs/batch': {
    path: async () => '/jobs/batch',
    body: { jobs: [1, 2, 3].map((n) => ({ task_name: 't', payload: { n }, config: { queue } })) },
    created: ({ body }) => body.job_ids as string[],
  },
  'POST /workflows': {
    path: async () => '/workflows',
    body: { name: 'w', steps: [{ name: 's', task_name: 't', queue }] },
    created: ({ body }) => [body.workflow_id as string],
  },
  'POST /dlq/{id}/replay': { path: async (client) => `/dlq/${await deadLetter(client)}/replay`, created: jobId },
  'POST /jobs/{id}/rerun': {
    path: async (client) => `/jobs/${await createJob(client, queue)}/rerun`,
    created: jobId,
  },
  'POST /cron/{id}/trigger': { path: async (client) => `/cron/${await schedule(client)}/trigger`, created: jobId },
};
const ALL = Object.entries(KINDS);

describe.each(ALL)('a key of %s', (name, { path: pathFor, body, created }) => {
  it('answers a repeat as the first time, from any process', async () => {
    const path = await pathFor(a);
    const first = await keyed(one.a, path, `repeat ${name}`, body);
    expect([first.status, isReplayed(first)]).toEqual([201, false]);
    for (const client of [one.a, two.a]) {
      const again = await keyed(client, path, `repeat ${name}`, body);
      expect(answerOf(again)).toEqual(answerOf(first));
      expect(isReplayed(again)).toBe(true);
    }
    const other = await keyed(a, path, `another ${name}`, body);
    if (other.status === 201) expect(created(other)).not.toEqual(created(first));
  });

  it('takes effect once, however many ask at the same time in two processes', async () => {
    const path = await pathFor(a);
    const counts = async (): Promise<number> => {
      const all = await Promise.all([stats(one.a), stats(two.a)]);
      return all.reduce((sum, each) => sum + each.jobs_created!, 0);
    };
    const before = await counts();
    const replies = await Promise.all(
      Array.from({ length: 20 }, (_, n) => keyed(n % 2 ? one.a : two.a, path, `race ${name}`, body)),
    );
    expect(new Set(replies.map((reply) => JSON.stringify(answerOf(reply)))).size).toBe(1);
    expect(replies.filter((reply) => !isReplayed(reply))).toHaveLength(1);
    expect(await counts()).toBe(before + (name === 'POST /jobs/batch' ? 3 : 1));
  });

  it('belongs to its tenant', async () => {
    const [ours, theirs] = [
      await keyed(a, await pathFor(a), `shared ${name}`, body),
      await keyed(b, await pathFor(b), `shared ${name}`, body),
    ];
    expect([ours.status, theirs.status, isReplayed(theirs)]).toEqual([201, 201, false]);
    expect(created(theirs)).not.toEqual(created(ours));
  });

  it('is a conflict for every other kind of request', async () => {
    await keyed(a, await pathFor(a), `kind ${name}`, body);
    for (const [other, { path, body: otherBody }] of ALL) {
      if (other === name) continue;
      const reply = await keyed(a, await path(a), `kind ${name}`, otherBody);
      expect([other, reply.status, reply.body.code]).toEqual([other, 409, 'conflict']);
    }
  });

  it('is free again if the request was refused', async () => {
    const path = await pathFor(a);
    const refused = await (body === undefined
      ? keyed(
          a,
          path.replace(/\/\w[\w-]*\//, (id) => (id.includes('-') ? `/${crypto.randomUUID()}/` : '/1/')),
          'no',
          {},
        )
      : keyed(a, path, 'no', {}));
    expect(refused.status).toBeGreaterThanOrEqual(400);
    const reply = await keyed(a, path, 'no', body);
    expect([reply.status, isReplayed(reply)]).toEqual([201, false]);
    await database.query(`DELETE FROM millrace.idempotency_keys WHERE key = 'no'`);
  });
});

describe('a key', () => {
  it('is for one path: another resource is another request', async () => {
    const [first, second] = [await deadLetter(a), await deadLetter(a)];
    expect((await keyed(a, `/dlq/${first}/replay`, 'one letter')).status).toBe(201);
    expect((await keyed(a, `/dlq/${second}/replay`, 'one letter')).status).toBe(409);
    expect((await keyed(a, `/dlq/${second}/replay`, 'other letter')).status).toBe(201);
  });

  it('of a replay answers with the same job, and only without it the entry has been replayed', async () => {
    const id = await deadLetter(a);
    const first = await keyed(a, `/dlq/${id}/replay`, 'replayed');
    expect((await keyed(a, `/dlq/${id}/replay`, 'replayed')).body).toEqual(first.body);
    expect((await a.post(`/api/v1/dlq/${id}/replay`)).body.code).toBe('already_replayed');
    expect((await keyed(a, `/dlq/${id}/replay`, 'late')).body.code).toBe('already_replayed');
    // The refusal did not use the key up.
    expect((await keyed(a, '/jobs', 'late', { task_name: 't' })).status).toBe(201);
  });

  it('of a batch is not carried by its jobs', async () => {
    const { body } = await keyed(a, '/jobs/batch', 'of a batch', KINDS['POST /jobs/batch']!.body);
    for (const id of body.job_ids as string[]) expect((await getJob(a, id)).idempotency_key).toBeNull();
    expect((await a.get('/api/v1/jobs?idempotency_key=of%20a%20batch&limit=1')).status).toBe(200);
  });

  it('goes with its effect if the process loses its connection halfway, and a waiting repeat acts instead', async () => {
    const { body } = KINDS['POST /workflows']!;
    const blocked = await blockWorkflows(database);
    const lost = keyed(one.a, '/workflows', 'crash', body);
    await blocked.held();
    const waiting = keyed(two.a, '/workflows', 'crash', body);
    await blocked.held(2);
    await database.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
       WHERE datname = current_database() AND application_name = 'millrace' AND wait_event = 'relation'`,
    );
    expect((await lost).status).toBe(503);
    await blocked.release();
    const reply = await waiting;
    expect([reply.status, isReplayed(reply)]).toEqual([201, false]);
    const again = await keyed(one.a, '/workflows', 'crash', body);
    expect([again.body, isReplayed(again)]).toEqual([reply.body, true]);
  });

  it('can be sent in the body of a single job, trimmed, and must equal the header', async () => {
    const body = { task_name: 't', idempotency_key: ' in body ' };
    const first = await a.post('/api/v1/jobs', body);
    expect(await getJob(a, first.body.job_id)).toMatchObject({ idempotency_key: 'in body' });
    for (const again of [await a.post('/api/v1/jobs', body), await keyed(a, '/jobs', 'in body', body)]) {
      expect([again.body, isReplayed(again)]).toEqual([first.body, true]);
    }
    const differing = await keyed(a, '/jobs', 'in header', body);
    expect([differing.status, differing.body.details[0].path]).toEqual([400, 'idempotency_key']);
    const blank = await keyed(a, '/jobs', 'in header', { task_name: 't', idempotency_key: ' ' });
    expect(await getJob(a, blank.body.job_id)).toMatchObject({ idempotency_key: 'in header' });
  });

  it.each([['x'.repeat(256)], ['millrace:cron:x'], ['a\0b'], ['\ud800']])('in the body may not be %j', async (key) => {
    const reply = await a.post('/api/v1/jobs', { task_name: 't', idempotency_key: key });
    expect([reply.status, reply.body.details[0].path]).toEqual([400, 'idempotency_key']);
  });
});

describe('with retention of one hour', () => {
  it('keys of batches expire an hour after they were used, those of jobs with their job', async () => {
    await clock.freeze();
    const short = await startTestServer({ database, config: { ...config, retentionHours: 1 } });
    const mine = newQueue();
    const batch = { jobs: [{ task_name: 't', config: { queue: mine } }] };
    const first = await keyed(short.a, '/jobs/batch', 'expiring', batch);
    const single = await keyed(short.a, '/jobs', 'staying', { task_name: 't', config: { queue: newQueue() } });
    const untouched = await keyed(one.a, '/jobs/batch', 'seven days', batch);
    await complete(worker, await leaseOne(worker, mine));
    await short.stop();

    const sweep = async (): Promise<void> => {
      const sweeper = await startTestServer({ database, config: { ...config, retentionHours: 1 } });
      // Not by now(): a query sees what was committed after that instant, and the turn just taken would look kept.
      const resting = `last_run_at > test_clock.clock_timestamp()`;
      const swept = `SELECT FROM millrace.loops WHERE name = 'retention' AND ${resting}`;
      await until(async () => (await database.query(swept)).length > 0, { what: 'the pass to end' });
      await sweeper.stop();
    };
    await clock.advance(3_500);
    await sweep();
    expect((await keyed(a, '/jobs/batch', 'expiring', batch)).body).toEqual(first.body);
    // Longer than a pass ever rests, which depends on how long the one before took.
    await clock.advance(3_700);
    await sweep();
    // The job of the batch has gone with retention, and so has the key by its own time.
    expect((await keyed(a, '/jobs/batch', 'expiring', batch)).body).not.toEqual(first.body);
    expect((await keyed(a, '/jobs', 'staying', { task_name: 't' })).body).toEqual(single.body);
    expect((await keyed(a, '/jobs/batch', 'seven days', batch)).body).toEqual(untouched.body);
    const [row] = await database.query<{ secs: number }>(
      `SELECT extract(epoch FROM expires_at - test_clock.now())::int AS secs FROM millrace.idempotency_keys
       WHERE tenant = $1 AND key = 'seven days'`,
      [TENANT_A],
    );
    expect(row!.secs).toBeGreaterThan(6.9 * 86_400);
    expect(row!.secs).toBeLessThan(7 * 86_400);
  });
});
