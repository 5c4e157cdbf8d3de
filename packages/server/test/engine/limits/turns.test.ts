import fc from 'fast-check';
import { SignJWT } from 'jose';
import { describe, expect, it } from 'vitest';
import { cases } from '../../support/cases.js';
import type { Client } from '../../support/client.js';
import { JWT_SECRET, useTestServer } from '../../support/server.js';
import { until } from '../../support/until.js';
import { createJob, createJobs, lease, newQueue, type Leased } from '../kit.js';

/** The rule by which tenants take turns, for more of them than two. */
const server = await useTestServer({ config: { mode: 'api' } });
const { admin, worker, database } = server;

const TENANTS = 10;
const tenants: Client[] = [];
for (let n = 0; n < TENANTS; n++) {
  const claims = { sub: `t${n}`, exp: Math.ceil(Date.now() / 1000) + 86_400 };
  const token = new SignJWT(claims).setProtectedHeader({ alg: 'HS256' }).sign(Buffer.from(JWT_SECRET));
  tenants.push(server.as(await token));
}

/** A queue on which the tenants have so many jobs in line. */
async function queueWith(waiting: readonly number[]): Promise<string> {
  const queue = newQueue();
  const reply = await admin.send('PUT', `/api/v1/admin/queues/${queue}`, { body: { share: 'tenant' } });
  expect(reply.status, reply.text).toBe(200);
  for (const [n, count] of waiting.entries()) if (count > 0) await createJobs(tenants[n]!, queue, count);
  await allInLine(queue);
  return queue;
}

const allInLine = (queue: string): Promise<unknown> =>
  until(
    async () => {
      const [row] = await database.query<{ n: number }>(
        'SELECT count(*)::int AS n FROM millrace.ready WHERE queue = $1 AND waits_for IS NULL',
        [queue],
      );
      return row!.n === 0 || `${row!.n} are in no line`;
    },
    { what: 'all jobs in line' },
  );

const placeOf = ({ job }: Leased): number => Number(job.tenant_id.slice(1));
const shares = (leased: readonly Leased[]): number[] =>
  tenants.map((_, n) => leased.filter((each) => placeOf(each) === n).length);
const sum = (counts: readonly number[]): number => counts.reduce((total, n) => total + n, 0);

describe('turns', () => {
  it('give what is asked for, or all there is, and leave nobody who waits more than a turn behind', async () => {
    const waiting = fc.array(fc.nat({ max: 12 }), { minLength: 1, maxLength: 6 });
    const claims = fc.array(fc.integer({ min: 1, max: 15 }), { minLength: 1, maxLength: 6 });
    const property = fc.asyncProperty(waiting, claims, async (counts, asked) => {
      const queue = await queueWith(counts);
      const taken: Leased[] = [];
      for (const count of asked) {
        const left = sum(counts) - taken.length;
        const found = await lease(worker, queue, { max_jobs: count });
        expect(found).toHaveLength(Math.min(count, left));
        taken.push(...found);
        const got = shares(taken);
        for (const [n, all] of counts.entries()) {
          expect(got[n]).toBeLessThanOrEqual(all);
          if (got[n]! < all) expect(Math.max(...got) - got[n]!).toBeLessThanOrEqual(1);
        }
      }
      expect(new Set(taken.map(({ job }) => job.id)).size).toBe(taken.length);
    });
    await fc.assert(property, { numRuns: cases(16) });
  });

  it('are of a few jobs each where many are asked for, and those who have more make up for the rest', async () => {
    const got = shares(await lease(worker, await queueWith([60, 60, 2]), { max_jobs: 100 }));
    expect(got[2]).toBe(2);
    expect(sum(got)).toBe(100);
    expect(Math.abs(got[0]! - got[1]!)).toBeLessThanOrEqual(4);
    const skewed = shares(await lease(worker, await queueWith([120, ...Array(9).fill(1)]), { max_jobs: 100 }));
    expect(skewed).toEqual([91, ...Array(9).fill(1)]);
  });

  it('go on where a claim ended, though its jobs were too large for all whose turn it was', async () => {
    const queue = await queueWith([]);
    const text = 'x'.repeat(1_000_000);
    for (const tenant of tenants) for (const n of [1, 2]) await createJob(tenant, queue, { payload: { n, text } });
    await allInLine(queue);
    const first = await lease(worker, queue, { max_jobs: TENANTS });
    expect(first.length).toBeLessThan(TENANTS);
    const second = await lease(worker, queue, { max_jobs: TENANTS });
    expect(shares([...first, ...second])).not.toContain(0);
  });

  it('are taken by each of several claims that happen at the same time, and no job twice', async () => {
    const queue = await queueWith([30, 30, 30]);
    const taken: Leased[] = [];
    while (taken.length < 90) {
      const found = await Promise.all(Array.from({ length: 6 }, () => lease(worker, queue, { max_jobs: 3 })));
      expect(found.flat()).not.toEqual([]);
      taken.push(...found.flat());
    }
    expect(new Set(taken.map(({ job }) => job.id)).size).toBe(90);
    expect(shares(taken).slice(0, 3)).toEqual([30, 30, 30]);
  });
});
