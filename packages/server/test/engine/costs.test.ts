import { describe, expect, it } from 'vitest';
import { until } from '../support/until.js';
import { job, OTHERS, POOL_QUEUE, together, useCosts } from './cost-kit.js';
import { completeJob, hand, step, workflowsOf } from './workflows/kit.js';
import { complete, createJob, heartbeat, idsOf, lease, report } from './kit.js';

/**
 * What each path costs in statements and in bytes of write-ahead log, so that an extra statement or index shows here
 * and not in next month's benchmark. A limit is about a tenth above what was measured when it was set.
 */
describe('the cost of', async () => {
  const { a, worker, admin, costOf, post, batch, ended, untilEnded } = await useCosts();

  it('a batch: one statement, less than 800 bytes per job', async () => {
    const cost = await costOf(async () => {
      for (let n = 0; n < 5; n++) await batch(1000, 'waiting');
    });
    expect(cost.statements, cost.detail).toBeLessThanOrEqual(5 + OTHERS);
    expect(cost.bytes / 5000, cost.detail).toBeLessThan(800);
  });

  it('jobs that come one by one from many callers: far fewer statements than jobs', async () => {
    const cost = await costOf(() => together(64, 1000, (n) => post('/api/v1/jobs', job(n, 'waiting'))));
    expect(cost.statements, cost.detail).toBeLessThan(250);
    expect(cost.bytes / 1000, cost.detail).toBeLessThan(850);
  });

  it('a job of one caller: one statement', async () => {
    const cost = await costOf(() => together(1, 100, (n) => post('/api/v1/jobs', job(n, 'waiting'))));
    expect(cost.statements, cost.detail).toBeLessThanOrEqual(100 + OTHERS);
  });

  it('the whole life of a job in the pool: less than 1.1 kB, and one statement for dozens', async () => {
    const before = await ended();
    const cost = await costOf(async () => {
      // The last queue by name: in the middle of an index, pages split in halves, which costs a tenth more, and whether
      // it is the middle depends on what else is there.
      await together(1, 10, () => batch(1000, POOL_QUEUE));
      await untilEnded(before + 10_000);
    });
    expect(cost.statements, cost.detail).toBeLessThan(10_000 / 24);
    expect(cost.bytes / 10_000, cost.detail).toBeLessThan(1100);
  });

  it('leasing a hundred and completing them one by one: one statement for many, less than 700 bytes per job', async () => {
    await batch(1000, 'distant');
    const cost = await costOf(async () => {
      for (let n = 0; n < 10; n++) {
        const leased = await lease(worker, 'distant', { max_jobs: 100 });
        await together(16, leased.length, (k) => complete(worker, leased[k]!));
      }
    });
    expect(cost.statements, cost.detail).toBeLessThan(500);
    expect(cost.bytes / 1000, cost.detail).toBeLessThan(700);
  });

  it('telling each job as it ends: a narrow row more, and nothing once nobody has asked for a while', async () => {
    const life = async (): Promise<number> => {
      const before = await ended();
      const cost = await costOf(async () => {
        for (let n = 0; n < 5; n++) await batch(1000, POOL_QUEUE);
        await untilEnded(before + 5000);
      });
      return cost.bytes / 5000;
    };
    expect((await a.get('/api/v1/jobs/ended')).status).toBe(200);
    expect(await life()).toBeLessThan(1350);
    await admin.query('UPDATE millrace.followed SET until = now()');
    expect(await life()).toBeLessThan(1100);
  });

  it('asking whether the server is ready: one statement per second, however many ask', async () => {
    const startedAt = performance.now();
    const cost = await costOf(() => together(16, 300, () => a.get('/ready')));
    const seconds = Math.ceil((performance.now() - startedAt) / 1000);
    expect(cost.statements, cost.detail).toBeLessThanOrEqual(seconds + 1 + OTHERS);
  });

  it('progress that many streams of a job are told: one row, read once', async () => {
    const streams = 50;
    await batch(1, 'followed');
    const [leased] = await lease(worker, 'followed');
    const path = `/api/v1/jobs/${leased!.job.id}/events`;
    const open = await Promise.all(Array.from({ length: streams }, () => a.open('GET', path)));
    const told = open.map(async ({ body }) => {
      let text = '';
      for await (const piece of body!.pipeThrough(new TextDecoderStream())) if (/"n":9\b/.test((text += piece))) return;
    });
    await admin.query('SELECT pg_stat_statements_reset()');
    for (let n = 0; n < 10; n++) {
      await report(worker, 'heartbeat', leased!, { extend_secs: 3_600, progress: { n } });
    }
    await Promise.all(told);
    const { rows } = await admin.query<{ query: string; calls: number; rows: number }>(
      `SELECT left(query, 60) AS query, calls::int, rows::int FROM pg_stat_statements WHERE query LIKE '%AS watched (%'`,
    );
    expect(rows.length).toBeGreaterThan(0);
    for (const each of rows) expect(each.rows, each.query).toBeLessThanOrEqual(each.calls);
    await complete(worker, leased!);
  });

  it('heartbeats: one statement for many', async () => {
    await batch(100, 'beating');
    const leased = await lease(worker, 'beating', { max_jobs: 100 });
    const cost = await costOf(() => together(16, 100, (k) => heartbeat(worker, leased[k]!)));
    expect(cost.statements, cost.detail).toBeLessThan(50);
  });

  it('what a hundred handlers wrote, with heartbeats and reports: one statement more for each call', async () => {
    await batch(100, 'writing');
    const leased = await lease(worker, 'writing', { max_jobs: 100 });
    const at = new Date().toISOString();
    const logs = Array.from({ length: 10 }, () => ({ at, level: 'info', message: 'x'.repeat(100) }));
    const items = leased.map(({ job: { id }, lease_token }) => ({ job_id: id, lease_token, logs }));
    const cost = await costOf(async () => {
      await worker.post('/api/v1/heartbeats', { extend_secs: 3_600, leases: items });
      const reports = items.map((item) => ({ ...item, outcome: 'completed' }));
      expect((await worker.post('/api/v1/reports', { reports })).body.reports[99]).toMatchObject({ ok: true });
    });
    expect(cost.statements, cost.detail).toBeLessThanOrEqual(4 + OTHERS);
    expect(cost.bytes / 2_000, cost.detail).toBeLessThan(450);
  });

  it('a workflow of three steps by itself: less than 7 kB and two dozen statements', async () => {
    const chain = ['a', 'b', 'c'].map((name, n, all) => ({
      name,
      task_name: 'nothing',
      depends_on: n === 0 ? [] : [all[n - 1]],
    }));
    const workflows = async (): Promise<number> => (await a.get('/api/v1/stats')).body.workflows_completed as number;
    const before = await workflows();
    const cost = await costOf(async () => {
      for (let n = 1; n <= 20; n++) {
        await post('/api/v1/workflows', { name: 'chain', steps: chain });
        await until(async () => (await workflows()) >= before + n, { what: 'the workflow to end' });
      }
    });
    expect(cost.statements / 20, cost.detail).toBeLessThan(24);
    expect(cost.bytes / 20, cost.detail).toBeLessThan(7000);
  });

  it('a result that three hundred steps receive: what three receiving it cost, but for their rows', async () => {
    const steps = hand(worker, 'fan');
    const costFor = async (width: number): Promise<number> => {
      const names = Array.from({ length: width }, (_, n) => `n${n}`);
      const id = await workflowsOf(a).create(
        ['root', ...names].map((name) => step(name, name === 'root' ? [] : ['root'], { queue: 'fan' })),
      );
      const { job: root, lease_token: token } = await steps.take(id, 'root');
      // What does not compress, so that bytes are bytes.
      const noise = Array.from({ length: 100_000 }, () => Math.floor(Math.random() * 36).toString(36)).join('');
      const { bytes } = await costOf(async () => {
        expect((await completeJob(worker, root.id, token, { noise })).status).toBe(204);
      });
      await workflowsOf(a).cancel(id);
      return bytes;
    };
    await costFor(3);
    expect(await costFor(300)).toBeLessThan(3 * (await costFor(3)));
  });

  it('polling idle queues again and again: a few statements for all of them together', async () => {
    const queues = Array.from({ length: 300 }, (_, n) => `idle-${n}`);
    const round = (): Promise<unknown> => Promise.all(queues.map((queue) => lease(worker, queue, { wait_secs: 1 })));
    await round();
    const cost = await costOf(async () => {
      await round();
      await round();
    });
    // Ten per second, over two rounds of about one second. One claim per call would be six hundred.
    expect(cost.statements, cost.detail).toBeLessThanOrEqual(10 * cost.secs + OTHERS);
  });

  it('asking many queues for the first time: those that are empty are not claimed from', async () => {
    const queues = Array.from({ length: 300 }, (_, n) => `first-${n}`);
    const id = await createJob(a, 'first-200');
    let found: string[] = [];
    const cost = await costOf(async () => {
      found = (await Promise.all(queues.map((queue) => lease(worker, queue)))).flatMap(idsOf);
    });
    expect(found).toEqual([id]);
    expect(cost.statements, cost.detail).toBeLessThanOrEqual(60);
  });

  // Last: what was given back is counted in later, and these limits are dropped.
  it('the whole life of a job with one of a thousand limits that are never reached: less than 1.75 kB', async () => {
    const before = await ended();
    const cost = await costOf(async () => {
      for (let n = 0; n < 5; n++) {
        const jobs = Array.from({ length: 1000 }, (_, k) => {
          const limits = [{ key: `user-${k}`, running: 100 }];
          return { ...job(k, POOL_QUEUE), config: { queue: POOL_QUEUE, limits } };
        });
        await post('/api/v1/jobs/batch', { jobs });
      }
      await untilEnded(before + 5000);
    });
    // What gives back room looks at no line: that would be a transaction for each of a thousand limits. How many jobs
    // share a statement depends on how fast they come.
    expect(cost.statements, cost.detail).toBeLessThan(500);
    expect(cost.bytes / 5000, cost.detail).toBeLessThan(1750);
  });
});
