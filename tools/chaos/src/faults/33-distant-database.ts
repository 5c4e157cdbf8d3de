import type { Fault } from '../fault.js';
import { compareDrains } from '../support/drain.js';

const EACH_WAY_MS = 10;
const FULL_ROUNDS = 30;
const LEAST_SHARE = 0.5;
/** Of a few short drains, which mostly show how a pool gets going: it must not have collapsed. */
const LEAST_SHARE_OF_FEW = 0.2;
const [FAR, NEAR] = ['far', 'near'];

/**
 * One server is 20 ms away from its database, another beside it. Both go through a proxy, which only delays the one, so
 * that nothing but the distance differs.
 */
export const distantDatabase: Fault = {
  row: 33,
  name: 'a database 20 ms away',
  check: 'the drain keeps half of its local rate',
  unit: 'rounds',
  full: FULL_ROUNDS,
  everyday: 2,
  rare: true,
  alone: true,
  async run(stage, count) {
    const database = await stage.database();
    const [toFar, toNear] = [await stage.proxy(database), await stage.proxy(database)];
    toFar.slow(() => EACH_WAY_MS);
    toNear.slow(() => 0);
    const producer = stage.client(await stage.server({ database, mode: 'api' }));
    const far = await stage.server({ database, databaseUrl: toFar.url, args: [`--default-queue=${FAR}`] });
    const near = await stage.server({ database, databaseUrl: toNear.url, args: [`--default-queue=${NEAR}`] });
    await compareDrains(stage, {
      producer,
      clean: { server: near, queue: NEAR },
      troubled: { server: far, queue: FAR },
      rounds: count,
      batches: count < FULL_ROUNDS ? 3 : 20,
      leastShare: count < FULL_ROUNDS ? LEAST_SHARE_OF_FEW : LEAST_SHARE,
      what: `${2 * EACH_WAY_MS} ms away`,
    });
    await stage.drained(database);
    const again = await database.count('millrace.job_records WHERE delivery_count > 1');
    stage.expect(again === 0, `${again} jobs were delivered more than once`);
  },
};
