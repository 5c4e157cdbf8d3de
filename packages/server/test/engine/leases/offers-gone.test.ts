import { afterAll, describe, expect, it } from 'vitest';
import { BEHIND_SECS, Offers, OFFER_SECS } from '../../../src/engine/shared/offers.js';
import { Database } from '../../../src/store/connection/database.js';
import { createLogger } from '../../../src/telemetry/logger.js';
import { oneDatabase } from '../../support/database.js';
import { connectionOf } from '../../support/pooled.js';
import { until } from '../../support/until.js';
import { newQueue } from '../kit.js';

/** What workers offered counts for as long as they keep asking. Processes with clocks of their own, on one database. */
const database = await oneDatabase();
const db = new Database({
  ...{ ...connectionOf(database.url), maxConnections: 2 },
  logger: createLogger({ level: 'silent', format: 'json' }),
});
const opened: Offers[] = [];
afterAll(async () => {
  await Promise.all(opened.map((offers) => offers.stop()));
  await db.close();
  await database.drop();
});

function aProcess(): { readonly offers: Offers; readonly pass: (secs: number) => void } {
  let now = 0;
  const offers = new Offers(db, () => now);
  opened.push(offers);
  return { offers, pass: (secs) => void (now += secs * 1_000) };
}
const stored = (queue: string): Promise<any[]> =>
  database.query('SELECT worker, slots FROM millrace.offers WHERE queue = $1 ORDER BY worker', [queue]);
const written = (queue: string, count: number): Promise<unknown> =>
  until(async () => (await stored(queue)).length === count, { what: 'the offers to be written' });
/** Everything in the database was written so much earlier. */
const age = (queue: string, secs: number): Promise<unknown> =>
  database.query(`UPDATE millrace.offers SET seen_at = seen_at - $2 * interval '1 second' WHERE queue = $1`, [
    queue,
    secs,
  ]);
const workers = async (offers: Offers, queue: string): Promise<string[]> =>
  (await offers.of('tenant-a', queue)).map(({ worker }) => worker).sort();

const hears = async (offers: Offers, worker: string): Promise<boolean> =>
  (await offers.lately('tenant-a', Date.now(), 0)).some((offer) => offer.worker === worker);

describe('a worker that asks no more', () => {
  it('is forgotten by the process that heard it, and by the others', async () => {
    const [one, two] = [aProcess(), aProcess()];
    const queue = newQueue();
    one.offers.note(queue, 'w1', 8, ['resize']);
    one.offers.note(queue, 'w2', 2, null);
    await written(queue, 2);
    expect([await workers(one.offers, queue), await workers(two.offers, queue)]).toEqual([
      ['w1', 'w2'],
      ['w1', 'w2'],
    ]);
    one.pass(OFFER_SECS - 1);
    one.offers.note(queue, 'w2', 2, null);
    one.pass(2);
    await age(queue, OFFER_SECS + 1);
    expect(await workers(one.offers, queue)).toEqual(['w2']);
    // Another process knows what was written, which may lag behind what was heard.
    expect(await workers(two.offers, queue)).toEqual(['w1', 'w2']);
    await age(queue, BEHIND_SECS);
    expect(await workers(two.offers, queue)).toEqual([]);
  });

  it('is told by what a process that stops has heard last', async () => {
    const [one, two] = [aProcess(), aProcess()];
    const queue = newQueue();
    one.offers.note(queue, 'w1', 8, null);
    await written(queue, 1);
    one.offers.note(queue, 'w2', 2, null);
    await one.offers.stop();
    expect(await workers(two.offers, queue)).toEqual(['w1', 'w2']);
  });

  it('comes back with what it says then', async () => {
    const { offers, pass } = aProcess();
    const queue = newQueue();
    offers.note(queue, 'w', 8, ['resize']);
    await written(queue, 1);
    pass(OFFER_SECS * 2);
    await age(queue, OFFER_SECS * 2);
    expect(await workers(offers, queue)).toEqual([]);
    offers.note(queue, 'w', 3, ['crop']);
    expect(await offers.of('tenant-a', queue)).toMatchObject([{ worker: 'w', slots: 3, tasks: ['crop'] }]);
    await until(async () => (await stored(queue))[0]?.slots === 3, { what: 'the offer to be written' });
  });
});

describe('however many there are', () => {
  it('those that were not heard of for longest go first, and memory is bounded', async () => {
    const { offers } = aProcess();
    const queue = newQueue();
    for (let n = 0; n < 6_000; n++) offers.note(queue, `w${n}`, 1, null);
    expect([await hears(offers, 'w0'), await hears(offers, 'w999')]).toEqual([false, false]);
    expect(await hears(offers, 'w5999')).toBe(true);
    const tasks = Array.from({ length: 200 }, (_, n) => `${'x'.repeat(200)}${n}`);
    for (let n = 0; n < 400; n++) offers.note(queue, `large${n}`, 1, tasks);
    expect(await hears(offers, 'large0')).toBe(false);
    expect(await hears(offers, 'large399')).toBe(true);
  });

  it('a worker without a name counts as one of those who say nothing', async () => {
    const { offers } = aProcess();
    const queue = newQueue();
    offers.note(queue, null, 8, ['resize']);
    offers.note(queue, 'w1', null, null);
    expect(await offers.of('tenant-a', queue)).toMatchObject([{ worker: '', slots: null, tasks: null }]);
  });
});
