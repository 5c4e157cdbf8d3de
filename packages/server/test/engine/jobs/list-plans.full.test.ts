import { JOB_STATUSES, type JobStatus } from '@millrace/contract';
import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import {
  deadLettersAt,
  listDeadLetters,
  scanDeadLetters,
  type TenantDeadLetterFilter,
} from '../../../src/store/lists/dead-letter-lists.js';
import {
  countJobs,
  jobsWithIds,
  listJobs,
  scanJobs,
  type TenantJobFilter,
} from '../../../src/store/lists/job-lists.js';
import type { TenantRead } from '../../../src/store/lists/list-statements.js';
import { cloneDatabase, type TestDatabase } from '../../support/database.js';
import { startTestServer } from '../../support/server.js';
import * as kit from '../kit.js';
import { connectLike, describePlan, explain, fill, walk, type PlanNode } from './plan-kit.js';

const JOBS = 120_000;
/** What is running is in small tables, the only ones that may be read as a whole. */
const SMALL = ['leases', 'bundles', 'progress'];
const EVERY_JOB: TenantJobFilter = {
  tenant: 'tenant-1',
  statuses: [],
  queue: null,
  task: null,
  workflowId: null,
  idempotencyKey: null,
  createdAfter: null,
  createdBefore: null,
};
const EVERY_LETTER: TenantDeadLetterFilter = {
  tenant: 'tenant-1',
  queue: null,
  task: null,
  reason: null,
  replayed: null,
  jobId: null,
  fingerprint: null,
  createdAfter: null,
  createdBefore: null,
};
/** A few pages: if no more rows match, sorting them is as good as walking past the others. */
const FEW = 1_000;

describe('with a hundred thousand jobs and more', () => {
  let database: TestDatabase;
  let client: pg.Client;
  let middle: { readonly id: string; readonly at: string };

  beforeAll(async () => {
    database = await cloneDatabase();
    await fill(database, JOBS);
    client = await connectLike(database, 'read');
    const { rows } = await client.query<{ id: string; at: string }>(
      `SELECT id, created_at::text AS at FROM millrace.jobs WHERE tenant = 'tenant-1' ORDER BY id OFFSET 30000 LIMIT 1`,
    );
    middle = rows[0]!;
  });
  afterAll(async () => {
    await client.end();
    await database.drop();
  });

  /** Nodes that read more than their page: a whole table, or everything that matches in order to sort it. */
  const faults = (plan: PlanNode): string[] =>
    [...walk(plan)].flatMap(({ node }) => {
      const { 'Node Type': type, 'Relation Name': table } = node;
      if (type === 'Seq Scan') return SMALL.includes(table ?? '') ? [] : [`reads all of ${table}`];
      const sorts = type === 'Sort' || type === 'Incremental Sort';
      const tables = [...walk(node)]
        .map((visited) => visited.node['Relation Name'])
        .filter((name) => name !== undefined);
      return sorts && node['Plan Rows'] > FEW && !tables.some((name) => SMALL.includes(name))
        ? [`sorts ${tables.join(' and ')}`]
        : [];
    });

  /** Indexes walked from the end although the page begins further in. */
  const unbounded = (plan: PlanNode): string[] =>
    [...walk(plan)]
      .filter(({ above }) => above.some((ancestor) => ancestor['Node Type'] === 'Limit'))
      .filter(({ node }) => !SMALL.includes(node['Relation Name'] ?? '') && node['Index Name'] !== undefined)
      .filter(({ node }) => !/\bid\b/.test(node['Index Cond'] ?? ''))
      .map(({ node }) => `walks ${node['Index Name']} from its end`);

  const indexOf = (plan: PlanNode): string[] =>
    [...walk(plan)]
      .filter(({ above }) => above.some((ancestor) => ancestor['Node Type'] === 'Limit'))
      .flatMap(({ node }) => node['Index Name'] ?? []);

  const windows = [true, false].flatMap((ascending) => [true, false].map((further) => ({ ascending, further })));

  describe.each([null, ...JOB_STATUSES])('a page of jobs in the state %s', (status) => {
    it.each([null, 'queue-3'])('on the queue %s walks an index in order', async (queue) => {
      for (const tenant of ['tenant-1', 'tenant-7']) {
        for (const { ascending, further } of windows) {
          for (const createdAfter of [null, middle.at]) {
            const filter = { ...EVERY_JOB, tenant, statuses: status === null ? [] : [status], queue, createdAfter };
            const after = further ? middle.id : null;
            const { statement } = listJobs(filter, { ascending, after, limit: 101, offset: 0 });
            const plan = await explain(client, statement.text, statement.values);
            expect(faults(plan), describePlan(plan)).toEqual([]);
            if (further) expect(unbounded(plan), describePlan(plan)).toEqual([]);
          }
        }
      }
    });
  });

  it.each<[JobStatus | null, string | null, string]>([
    [null, null, 'jobs_pkey'],
    [null, 'queue-3', 'jobs_by_queue'],
    ['pending', null, 'ready_pkey'],
    ['retrying', null, 'ready_retrying'],
    ['completed', null, 'done_pkey'],
    ['failed', null, 'done_pkey'],
    ['cancelled', null, 'done_pkey'],
    ['failed', 'queue-3', 'done_pkey'],
  ])('a page of state %s on queue %s walks %s', async (status, queue, index) => {
    const filter = { ...EVERY_JOB, statuses: status === null ? [] : [status], queue };
    const { statement } = listJobs(filter, { ascending: false, after: null, limit: 101, offset: 0 });
    const plan = await explain(client, statement.text, statement.values);
    expect(indexOf(plan), describePlan(plan)).toContain(index);
  });

  it.each([true, false])(
    'what is due or not (%s) is looked for along an index, so many rows at a time',
    async (due) => {
      for (const queue of [null, 'queue-3']) {
        for (const { ascending, further } of windows) {
          const filter = { ...EVERY_JOB, statuses: ['pending', 'retrying'] as const, due, queue };
          const scan = { ascending, after: further ? middle.id : null, rows: 500, offset: 0, limit: 101 };
          const { statement } = scanJobs(filter, scan);
          const plan = await explain(client, statement.text, statement.values);
          expect(faults(plan), describePlan(plan)).toEqual([]);
          expect(indexOf(plan), describePlan(plan)).toContain('ready_pkey');
          if (further) expect(unbounded(plan), describePlan(plan)).toEqual([]);
        }
      }
    },
  );

  it('a page of dead letters walks an index in order, and a total reads only its tenant', async () => {
    const after = { createdAt: middle.at, id: 77 };
    const letters = listDeadLetters(
      { ...EVERY_LETTER, createdAfter: middle.at },
      { ascending: true, after, limit: 101, offset: 0 },
    );
    const plan = await explain(client, letters.statement.text, letters.statement.values);
    expect(faults(plan), describePlan(plan)).toEqual([]);
    const total = countJobs({ ...EVERY_JOB, createdAfter: middle.at, statuses: ['failed'], queue: 'queue-3' });
    const counting = await explain(client, total.statement.text, total.statement.values);
    expect(faults(counting), describePlan(counting)).toEqual([]);
  });

  const planOf = ({ statement }: TenantRead): Promise<PlanNode> => explain(client, statement.text, statement.values);

  it.each<[JobStatus[], string | null]>([
    [['failed', 'cancelled'], null],
    [['failed', 'cancelled'], 'queue-3'],
    [['pending', 'retrying', 'completed'], null],
    [[...JOB_STATUSES], null],
    [[...JOB_STATUSES], 'queue-3'],
  ])('a page of the states %j on the queue %s is one walk to a limit for each', async (statuses, queue) => {
    for (const { ascending, further } of windows) {
      const after = further ? middle.id : null;
      const plan = await planOf(
        listJobs({ ...EVERY_JOB, statuses, queue }, { ascending, after, limit: 101, offset: 0 }),
      );
      expect(faults(plan), describePlan(plan)).toEqual([]);
      if (further) expect(unbounded(plan), describePlan(plan)).toEqual([]);
    }
  });

  it.each<[JobStatus[], string | null]>([
    [[], null],
    [[], 'queue-3'],
    [['pending'], 'queue-3'],
    [['retrying'], null],
    [['completed'], null],
    [['failed', 'cancelled'], 'queue-3'],
    [['pending', 'completed'], null],
  ])('a search for a task in the states %j on the queue %s walks an index to a limit', async (statuses, queue) => {
    const filter = { ...EVERY_JOB, statuses, queue, task: 'rare' };
    for (const { ascending, further } of windows) {
      const look = { ascending, after: further ? middle.id : null, rows: 1_000, offset: 0, limit: 101 };
      const plan = await planOf(scanJobs(filter, look));
      expect(faults(plan), describePlan(plan)).toEqual([]);
      if (further) expect(unbounded(plan), describePlan(plan)).toEqual([]);
    }
  });

  it.each([
    ['everything', {}, null],
    ['a queue', { queue: 'queue-3' }, null],
    ['a queue and a task', { queue: 'queue-3', task: 'rare' }, null],
    ['a workflow', { workflowId: '01a1e0e5-3f94-7a2d-8000-00000000ea62', queue: 'queue-3' }, 'jobs_of_workflow'],
    ['a key', { idempotencyKey: 'key-5' }, 'idempotency_keys_pkey'],
  ])('the walk of a bulk operation over %s follows an index to a limit', async (_, given, index) => {
    const statuses = ['pending', 'running', 'retrying'] as const;
    const filter = { ...EVERY_JOB, ...given, statuses, createdBefore: '2999-01-01T00:00:00Z' };
    for (const after of [null, middle.id]) {
      const plan = await planOf(scanJobs(filter, { ascending: true, after, rows: 1_000, offset: 0, limit: 500 }));
      expect(faults(plan), describePlan(plan)).toEqual([]);
      if (index !== null) expect(indexOf(plan), describePlan(plan)).toContain(index);
      else if (after !== null) expect(unbounded(plan), describePlan(plan)).toEqual([]);
    }
  });

  it('the jobs of a workflow and of a key are looked up, whatever their state and queue', async () => {
    const window = { ascending: false, after: null, limit: 101, offset: 0 };
    const more = { statuses: ['failed', 'running'] as const, queue: 'queue-3', task: 'task' };
    for (const given of [{}, more]) {
      const ofWorkflow = await planOf(listJobs({ ...EVERY_JOB, ...given, workflowId: middle.id }, window));
      const ofKey = await planOf(listJobs({ ...EVERY_JOB, ...given, idempotencyKey: 'key-5' }, window));
      expect(faults(ofWorkflow), describePlan(ofWorkflow)).toEqual([]);
      expect(faults(ofKey), describePlan(ofKey)).toEqual([]);
      expect(indexOf(ofWorkflow), describePlan(ofWorkflow)).toContain('jobs_of_workflow');
      expect(indexOf(ofKey), describePlan(ofKey)).toContain('idempotency_keys_pkey');
    }
    const found = await planOf(jobsWithIds('tenant-1', [middle.id], true, 'summary'));
    expect(faults(found), describePlan(found)).toEqual([]);
  });

  it('dead letters of a job, of a group and of a search are found by an index', async () => {
    const window = { ascending: false, after: { createdAt: middle.at, id: 77 }, limit: 101, offset: 0 };
    for (const [filter, index] of [
      [{ jobId: middle.id }, 'dead_letters_job_id_key'],
      [{ fingerprint: '0123456789abcdef' }, 'dead_letters_by_fingerprint'],
    ] as const) {
      const plan = await planOf(listDeadLetters({ ...EVERY_LETTER, ...filter }, window));
      expect(faults(plan), describePlan(plan)).toEqual([]);
      expect(indexOf(plan), describePlan(plan)).toContain(index);
    }
    const searched = await planOf(
      scanDeadLetters({ ...EVERY_LETTER, reason: 'non_retryable', queue: 'q' }, { ...window, rows: 1_000 }),
    );
    expect(faults(searched), describePlan(searched)).toEqual([]);
    expect(indexOf(searched), describePlan(searched)).toContain('dead_letters_by_creation');
    const everything = await planOf(scanDeadLetters(EVERY_LETTER, { ...window, rows: 1_000 }));
    expect(faults(everything), describePlan(everything)).toEqual([]);
    expect(indexOf(everything), describePlan(everything)).toContain('dead_letters_by_creation');
    const found = await planOf(deadLettersAt('tenant-1', [window.after], true));
    expect(faults(found), describePlan(found)).toEqual([]);
  });

  it('the whole API, used by a client and a worker, reads no whole table and little of the indexes', async () => {
    const read = `
      SELECT relname AS table, coalesce(seq_tup_read, 0)::int AS by_table,
             (SELECT coalesce(sum(idx_tup_read), 0)::int
              FROM pg_stat_user_indexes i WHERE i.relid = t.relid) AS by_index
      FROM pg_stat_user_tables t
      WHERE schemaname = 'millrace' AND relname IN ('jobs', 'ready', 'done', 'idempotency_keys', 'dead_letters')`;
    const counters = async () =>
      new Map(
        (await database.query<{ table: string; by_table: number; by_index: number }>(read)).map((row) => [
          row.table,
          row,
        ]),
      );
    const before = await counters();

    const server = await startTestServer({ database });
    onTestFinished(() => server.stop());
    const { a, worker } = server;
    const queue = kit.newQueue();
    for (let i = 0; i < 10; i++) {
      const id = await kit.createJob(a, queue, { config: { retry_delay_secs: 0 } });
      await a.post('/api/v1/jobs', { task_name: 'echo' }, { 'idempotency-key': `${queue}-${i % 3}` });
      const first = await kit.leaseOne(worker, queue);
      await kit.heartbeat(worker, first);
      await kit.fail(worker, first);
      await kit.complete(worker, await kit.leaseOne(worker, queue));
      await kit.getJob(a, id);
      expect((await kit.complete(worker, first)).status).toBe(204);
      expect((await a.get(`/api/v1/jobs/${middle.id}`)).status).toBe(404);
      await kit.cancel(a, await kit.createJob(a, queue));
      await kit.waitFor(a, await kit.createJob(a, 'default', { task_name: 'nobody' }), 'failed');
    }
    const letters = (await a.get('/api/v1/dlq')).body.dead_letters as { id: number }[];
    for (const { id } of letters) expect((await a.post(`/api/v1/dlq/${id}/replay`)).status).toBe(201);
    await a.get('/api/v1/queues');
    await server.stop();

    // A connection writes its counters when it closes, and all of the server's have closed.
    const after = await counters();
    for (const [table, now] of after) {
      expect(now.by_table - before.get(table)!.by_table, `rows of ${table} read by scans of it`).toBe(0);
      expect(now.by_index - before.get(table)!.by_index, `entries of indexes of ${table}`).toBeLessThan(3_000);
    }
  });
});
