import type { DeadLetter, Job } from '@millrace/contract';
import { beforeAll, describe, expect, it } from 'vitest';
import { useTestServer } from '../../support/server.js';
import { cancel, complete, createJob, createJobs, fail, lease, leaseOne, listAll, newQueue } from '../kit.js';

describe('lists of jobs', async () => {
  const { a, b, worker } = await useTestServer({ config: { mode: 'api' } });
  const list = async (query: string) => {
    const reply = await a.get(`/api/v1/jobs?${query}`);
    expect(reply.status, reply.text).toBe(200);
    return reply.body as { jobs: Job[]; has_more: boolean; next_cursor?: string; total?: number; offset: number };
  };
  const ids = (jobs: readonly Job[]): string[] => jobs.map((job) => job.id);

  describe('of 250 jobs created in one instant', () => {
    const queue = newQueue();
    let created: string[];
    beforeAll(async () => {
      created = await createJobs(a, queue, 250);
    });

    it.each(['ASC', 'DESC'])('pages of seven, %s, show each job once and in order', async (direction) => {
      const jobs = await listAll(a, `queue=${queue}&limit=7&order_by=created_at ${direction}`);
      expect(ids(jobs)).toEqual(direction === 'ASC' ? created : [...created].reverse());
    });

    it('pages by offset show the same', async () => {
      const pages = await Promise.all(
        [0, 100, 200].map((offset) => list(`queue=${queue}&limit=100&offset=${offset}&order_by=created_at ASC`)),
      );
      expect(ids(pages.flatMap((page) => page.jobs))).toEqual(created);
      expect(pages.map((page) => page.has_more)).toEqual([true, true, false]);
      expect((await list(`queue=${queue}&offset=250`)).jobs).toEqual([]);
    });

    it('the last page has no cursor, full or not', async () => {
      const full = await list(`queue=${queue}&limit=50&offset=200`);
      expect(full.jobs).toHaveLength(50);
      expect(full.has_more).toBe(false);
      expect(full).not.toHaveProperty('next_cursor');
      const all = await listAll(a, `queue=${queue}&limit=50`);
      expect(all).toHaveLength(250);
    });

    it('the total is a number, the same on every page, and absent unless requested', async () => {
      let page = await list(`queue=${queue}&limit=100&include_total=true`);
      for (let pages = 1; ; pages++) {
        expect(page.total).toBe(250);
        if (!page.has_more) {
          expect(pages).toBe(3);
          break;
        }
        page = await list(`queue=${queue}&limit=100&include_total=true&cursor=${page.next_cursor}`);
      }
      expect(await list(`queue=${queue}`)).not.toHaveProperty('total');
      expect(await list(`queue=${queue}&include_total=false`)).not.toHaveProperty('total');
      expect((await list(`queue=no-such-queue&include_total=true`)).total).toBe(0);
    });

    it('an offset is ignored if there is a cursor', async () => {
      const first = await list(`queue=${queue}&limit=10`);
      const next = await list(`queue=${queue}&limit=10&offset=100&cursor=${first.next_cursor}`);
      expect(ids(next.jobs)).toEqual([...created].reverse().slice(10, 20));
      expect(next.offset).toBe(0);
    });

    it('limits out of range are clamped', async () => {
      const lengths = async (limit: string) => (await list(`queue=${queue}&limit=${limit}`)).jobs.length;
      expect([await lengths('0'), await lengths('-5'), await lengths('101'), await lengths('9'.repeat(30))]).toEqual([
        1, 1, 100, 100,
      ]);
      expect(ids((await list(`queue=${queue}&offset=-1&limit=1`)).jobs)).toEqual([created.at(-1)]);
    });
  });

  it('pages neither skip nor repeat when jobs are added in between', async () => {
    const queue = newQueue();
    const old = await createJobs(a, queue, 30);
    for (const direction of ['ASC', 'DESC']) {
      const known = ids(await listAll(a, `queue=${queue}&order_by=created_at ASC`));
      const seen: string[] = [];
      let added: string[] = [];
      let page = await list(`queue=${queue}&limit=10&order_by=created_at ${direction}`);
      for (;;) {
        seen.push(...ids(page.jobs));
        if (!page.has_more) break;
        if (added.length === 0) added = await createJobs(a, queue, 5);
        page = await list(`queue=${queue}&limit=10&order_by=created_at ${direction}&cursor=${page.next_cursor}`);
      }
      // Newer jobs come at the end of an ascending listing, and before the start of a descending one.
      expect(seen).toEqual(direction === 'ASC' ? [...known, ...added] : [...known].reverse());
      expect(seen).toEqual(expect.arrayContaining(old));
    }
  });

  it('the range of instants includes its start but not its end, to the microsecond', async () => {
    const queue = newQueue();
    const made: Job[] = [];
    for (let i = 0; i < 4; i++) {
      await createJob(a, queue);
      made.push((await list(`queue=${queue}&limit=1`)).jobs[0]!);
    }
    const [first, second, third, fourth] = made as [Job, Job, Job, Job];
    const range = async (query: string) => ids((await list(`queue=${queue}&order_by=created_at ASC&${query}`)).jobs);
    const at = (job: Job): string => encodeURIComponent(job.created_at);
    expect(await range(`created_after=${at(second)}`)).toEqual([second.id, third.id, fourth.id]);
    expect(await range(`created_before=${at(third)}`)).toEqual([first.id, second.id]);
    expect(await range(`created_after=${at(second)}&created_before=${at(fourth)}`)).toEqual([second.id, third.id]);
    expect(await range(`created_after=${at(third)}&created_before=${at(third)}`)).toEqual([]);
    const { body } = await a.get(`/api/v1/jobs?queue=${queue}&created_after=${at(second)}&include_total=true&limit=1`);
    expect(body.total).toBe(3);
  });

  it('instants far from any job are accepted', async () => {
    const queue = newQueue();
    const id = await createJob(a, queue);
    const range = async (query: string) => ids((await list(`queue=${queue}&${query}`)).jobs);
    for (const long of ['0001-01-01T00:00:00Z', '1969-12-31T23:59:59.999999Z', '1970-01-01T00:00:00Z']) {
      expect(await range(`created_after=${long}`)).toEqual([id]);
      expect(await range(`created_before=${long}`)).toEqual([]);
    }
    expect(await range('created_before=9999-12-31T23:59:59.999999Z')).toEqual([id]);
    expect(await range('created_after=9999-12-31T23:59:59.999999Z')).toEqual([]);
    expect(await range('created_after=2000-01-01T00:00:00%2B05:30')).toEqual([id]);
  });

  it('filters by every status, with and without a queue, within the tenant', async () => {
    const queue = newQueue();
    await createJobs(a, queue, 6, { retry_delay_secs: 3600 });
    const theirs = await createJob(b, queue);
    const [done, retried, failed, stopped, running] = await lease(worker, queue, { max_jobs: 5 });
    await complete(worker, done!);
    await fail(worker, retried!);
    await fail(worker, failed!, { retryable: false });
    await cancel(a, stopped!.job.id);
    const expected: Record<string, string[]> = {
      completed: [done!.job.id],
      retrying: [retried!.job.id],
      failed: [failed!.job.id],
      cancelled: [stopped!.job.id],
      running: [running!.job.id],
    };
    const all = await listAll(a, `queue=${queue}`);
    expected.pending = ids(all.filter((job) => job.status === 'pending'));
    expect(expected.pending).toHaveLength(1);
    expect(all).toHaveLength(6);
    expect(ids(all)).not.toContain(theirs);
    for (const [status, wanted] of Object.entries(expected)) {
      const page = await list(`queue=${queue}&status=${status}&include_total=true`);
      expect(ids(page.jobs), status).toEqual(wanted);
      expect(page.total).toBe(wanted.length);
      expect(page.jobs.every((job) => job.status === status)).toBe(true);
      const anywhere = await list(`status=${status}&include_total=true`);
      expect(ids(anywhere.jobs)).toEqual(expect.arrayContaining(wanted));
      expect(anywhere.jobs.every((job) => job.status === status && job.tenant_id === 'tenant-a')).toBe(true);
    }
  });

  it('accepts the order with a plus or %20 and refuses any other', async () => {
    const queue = newQueue();
    const made = [await createJob(a, queue), await createJob(a, queue)];
    for (const order of ['created_at+ASC', 'created_at%20ASC']) {
      expect(ids((await list(`queue=${queue}&order_by=${order}`)).jobs)).toEqual(made);
    }
    for (const order of ['created_at', 'id ASC', 'created_at ASC; DROP TABLE millrace.jobs', 'created_at asc', '']) {
      expect((await a.get(`/api/v1/jobs?order_by=${encodeURIComponent(order)}`)).status).toBe(400);
    }
  });

  it.each([
    'x',
    '',
    'e30',
    'WyJ4Il0',
    'W10',
    Buffer.from('["0198c7f0-0000-7000-8000-00000000000g"]').toString('base64url'),
  ])('refuses the cursor %j', async (cursor) => {
    for (const path of ['jobs', 'dlq']) {
      expect((await a.get(`/api/v1/${path}?cursor=${cursor}`)).status).toBe(400);
    }
  });

  it('dead letters page like jobs, newest first, with numeric ids, and ignore a status', async () => {
    const queue = newQueue();
    await createJobs(b, queue, 12);
    const failed: string[] = [];
    for (let i = 0; i < 12; i++) {
      const leased = await leaseOne(worker, queue);
      await fail(worker, leased, { retryable: false });
      failed.push(leased.job.id);
    }
    const pages = async (query: string): Promise<DeadLetter[]> => {
      const found: DeadLetter[] = [];
      for (let cursor = ''; ;) {
        const { status, body } = await b.get(`/api/v1/dlq?limit=5&include_total=true&${query}${cursor}`);
        expect(status).toBe(200);
        expect(body.total).toBe(12);
        found.push(...body.dead_letters);
        if (!body.has_more) return found;
        cursor = `&cursor=${body.next_cursor}`;
      }
    };
    const newest = await pages('status=anything&queue=anything');
    expect(newest.map((letter) => letter.job_id)).toEqual([...failed].reverse());
    expect(newest.every(({ id }) => Number.isInteger(id))).toBe(true);
    expect((await pages('order_by=created_at ASC')).map((letter) => letter.job_id)).toEqual(failed);

    const middle = newest[5]!;
    const at = encodeURIComponent(middle.created_at);
    const from = (await b.get(`/api/v1/dlq?created_after=${at}`)).body.dead_letters as DeadLetter[];
    expect(from.at(-1)).toEqual(middle);
    const before = (await b.get(`/api/v1/dlq?created_before=${at}`)).body.dead_letters as DeadLetter[];
    expect(before[0]).toEqual(newest[6]);
  });
});
