import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { document } from '../../http/openapi/document.js';
import { cases } from '../../support/cases.js';
import { useTestServer } from '../../support/server.js';
import { until } from '../../support/until.js';
import { createJob, fail, lease, newQueue } from '../kit.js';

/** The first and the last instant that has an RFC 3339 form, where clocks of programs begin and end, and around now. */
const EDGES = [
  '0001-01-01T00:00:00Z',
  '0001-01-01T23:59:59.999999+23:59',
  '1601-01-01T00:00:00Z',
  '1950-01-01T00:00:00Z',
  '1969-12-31T23:59:59.999999Z',
  '1970-01-01T00:00:00Z',
  '2000-01-01T00:00:00Z',
  '2038-01-19T03:14:08Z',
  '2262-04-11T23:47:16.854775Z',
  '9999-12-31T00:00:00-23:59',
  '9999-12-31T23:59:59.999999Z',
];

const instants = fc.oneof(
  fc.constantFrom(...EDGES),
  fc
    .date({ min: new Date('0001-01-02T00:00:00Z'), max: new Date('9999-12-30T00:00:00Z'), noInvalidDate: true })
    .map((date) => date.toISOString()),
);

/** Every read of the API description, as far as it answers at once. */
const READS = Object.entries(document.paths).flatMap(([path, { get }]) =>
  get === undefined || /events$|^\/(docs|openapi)/.test(path) ? [] : [{ path, operation: get }],
);

const { a, admin, database, worker, metricsUrl } = await useTestServer({ config: { mode: 'api' } });
const begun = Date.now();
const metrics = async (): Promise<string> => (await fetch(`${metricsUrl}/metrics`)).text();

const numberOf = (match: RegExpExecArray | null): number | null => (match === null ? null : Number(match[1]));

describe('any instant that a create accepts', () => {
  /**
   * Every read, with the instant wherever one may be given; those that failed. One after the other: a tenant's reads
   * take turns, and on a slow machine dozens at once are more than get theirs in time.
   */
  async function failedReads(queue: string, id: string, instant: string): Promise<string[]> {
    const failed: string[] = [];
    for (const { path, operation } of READS) {
      const asked = (operation.parameters ?? []).filter(({ schema }) => schema.format === 'date-time');
      const query = asked.map(({ name }) => `${name}=${encodeURIComponent(instant)}`).join('&');
      const target = `${path.replace('{queue}', queue).replace(/\{\w+\}/, id)}?${query}`;
      const { status } = await (path.includes('/admin/') ? admin : a).get(target);
      if (status >= 500) failed.push(`${status} ${target}`);
    }
    return failed;
  }

  it('leaves every read able to answer, while the job waits, and when it has run', async () => {
    expect(READS.length).toBeGreaterThan(20);
    const property = fc.asyncProperty(instants, async (instant) => {
      const queue = newQueue();
      const id = await createJob(a, queue, { run_at: instant });
      expect(await failedReads(queue, id, instant)).toEqual([]);
      for (const leased of await lease(worker, queue)) await fail(worker, leased, { retryable: false });
      expect((await a.get(`/api/v1/jobs/${id}`)).status).toBe(200);
    });
    await fc.assert(property, { numRuns: cases(EDGES.length), examples: EDGES.map((edge) => [edge]) });
    const queue = newQueue();
    expect(await failedReads(queue, await createJob(a, queue), EDGES[0]!)).toEqual([]);
  });
});

describe('the age of a job that was created with an instant long past', () => {
  /** What each of those that tell an age says of the queue. */
  async function agesOf(queue: string): Promise<number[]> {
    const named = (list: { queue: string; oldest_pending_age_secs: number }[]): number =>
      list.find((each) => each.queue === queue)!.oldest_pending_age_secs;
    const gauge = new RegExp(`^millrace_oldest_ready_age_seconds\\{queue="${queue}"\\} (.*)$`, 'm');
    return [
      named((await a.get('/api/v1/queues')).body.queues),
      (await a.get(`/api/v1/queues/${queue}`)).body.oldest_pending_age_secs,
      named((await admin.get('/api/v1/admin/queues')).body.queues),
      (await admin.get('/api/v1/admin/overview')).body.oldest_pending_age_secs,
      // Counted every few seconds.
      await until(async () => numberOf(gauge.exec(await metrics())), { what: 'the gauge' }),
    ];
  }

  it('counts from its creation, everywhere', async () => {
    const queue = newQueue();
    await createJob(a, queue, { run_at: '1950-01-01T00:00:00Z' });
    for (const age of await agesOf(queue)) {
      expect(age).toBeGreaterThanOrEqual(0);
      expect(age).toBeLessThanOrEqual((Date.now() - begun) / 1000 + 1);
    }
  });

  it('counts from the instant if the job was created before it, and from the creation otherwise', async () => {
    const queue = newQueue();
    const id = await createJob(a, queue);
    const hoursAgo = (hours: number): string => `now() - interval '${hours} hours'`;
    // As if it had been created two hours ago for one hour ago; its id tells its creation.
    await database.query(
      `WITH earlier AS (
         SELECT (millrace.id_prefix(${hoursAgo(2)}) || right(replace($1, '-', ''), 16))::uuid AS id
       ), job AS (UPDATE millrace.jobs SET id = earlier.id, created_at = ${hoursAgo(2)} FROM earlier WHERE jobs.id = $1::uuid)
       UPDATE millrace.ready SET id = earlier.id, scheduled_at = ${hoursAgo(1)} FROM earlier WHERE ready.id = $1::uuid`,
      [id],
    );
    const depth = async (): Promise<number> => (await a.get(`/api/v1/queues/${queue}`)).body.oldest_pending_age_secs;
    expect(Math.floor((await depth()) / 3600)).toBe(1);
    await database.query(`UPDATE millrace.ready SET scheduled_at = ${hoursAgo(3)} WHERE queue = $1`, [queue]);
    expect(Math.floor((await depth()) / 3600)).toBe(2);
  });

  it('is how long it waited, once it runs', async () => {
    const queue = newQueue();
    await createJob(a, queue, { run_at: '1950-01-01T00:00:00Z' });
    await lease(worker, queue);
    expect(numberOf(/^millrace_job_wait_seconds_sum (.*)$/m.exec(await metrics()))).toBeLessThan(3600);
  });
});
