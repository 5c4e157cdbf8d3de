import { afterAll, describe, expect, it } from 'vitest';
import type { Handlers } from '../../../src/index.js';
import type { Client } from '../../support/client.js';
import { cloneDatabase } from '../../support/database.js';
import { startTestServer } from '../../support/server.js';
import { until } from '../../support/until.js';
import { startAnotherServer } from '../another-server.js';
import { createJob, expireAll, getJob } from '../kit.js';

/** What becomes of a pool's claim when its process dies: here the pool lives, but its leases have expired. */
const started = new Set<string>();
const finish: (() => void)[] = [];
const handlers: Handlers = {
  hold: (_payload, { job }) =>
    new Promise((resolve) => {
      started.add(job.id);
      finish.push(() => resolve({}));
    }),
};

describe('of a claim whose process died', async () => {
  const database = await cloneDatabase();
  const api = await startTestServer({ database, config: { mode: 'api' } });
  const { a, b } = api;
  const pools: { stop(): Promise<void> }[] = [];
  let queues = 0;
  afterAll(async () => {
    for (const end of finish) end();
    await Promise.all(pools.map((pool) => pool.stop()));
    await api.stop();
    await database.drop();
  });

  /** Claimed in this order by one pool; then the database says how far it got, and the leases expire. */
  async function dieAt(reach: number, owners: readonly Client[]): Promise<string[]> {
    const queue = `dying-${++queues}`;
    const ids: string[] = [];
    const config = { retry_delay_secs: 600 };
    for (const owner of owners) ids.push(await createJob(owner, queue, { task_name: 'hold', config }));
    pools.push(
      await startAnotherServer(database, { mode: 'worker', workers: owners.length, defaultQueue: queue }, handlers),
    );
    await until(() => ids.every((id) => started.has(id)), { what: 'all handlers to run' });
    const claim = `SELECT DISTINCT (left(token::text, 32) || '0000')::uuid AS token FROM millrace.running WHERE id = ANY ($1)`;
    const [{ token }] = (await database.query<{ token: string }>(claim, [ids])) as [{ token: string }];
    await database.query('INSERT INTO millrace.claim_marks VALUES (now(), $1, $2)', [reach, token]);
    // Under this claim: the pool of the test lives on, and claims again what goes back. Again and again, because it
    // extends what it holds now and then.
    const underIt = `left(token::text, 32) = left($1, 32)`;
    const isSwept = async (): Promise<boolean> => {
      for (const table of ['bundles', 'leases'] as const) await expireAll(database, table, underIt, [token]);
      return (await database.query(`SELECT FROM millrace.running WHERE ${underIt}`, [token])).length === 0;
    };
    await until(isSwept, { what: 'the sweep' });
    return ids;
  }

  it.each([
    ['held together', ['a', 'a', 'a', 'a', 'a', 'a']],
    ['held alone', ['a', 'a', 'a']],
    ['of several tenants, held both ways', ['a', 'b', 'a', 'a', 'b', 'a']],
  ])('jobs up to its mark pay a retry, and the others go back as if never claimed: %s', async (_how, tenants) => {
    const reach = 2;
    const owners = tenants.map((tenant) => (tenant === 'a' ? a : b));
    const ids = await dieAt(reach, owners);
    const jobs = await Promise.all(ids.map((id, n) => getJob(owners[n]!, id)));
    for (const job of jobs.slice(0, reach))
      expect(job).toMatchObject({ retry_count: 1, delivery_count: 1, error_message: 'lease expired' });
    // Claimed again, that is their first delivery.
    for (const job of jobs.slice(reach)) {
      expect(job).toMatchObject({ retry_count: 0, error_message: null });
      expect(job.delivery_count).toBe(job.status === 'running' ? 1 : 0);
    }
  });

  it('the mark is forgotten once nothing of it is held', async () => {
    await database.query(`UPDATE millrace.claim_marks SET claimed_at = now() - interval '2 minutes'`);
    // A process that starts looks at once.
    await database.query('DELETE FROM millrace.loops');
    const newcomer = await startAnotherServer(database, { mode: 'api' });
    pools.push(newcomer);
    await until(async () => (await database.query('SELECT FROM millrace.claim_marks')).length === 0, {
      what: 'the marks to go',
    });
  });
});
