import type { Fault } from '../fault.js';
import { QUICK } from '../stage/actors.js';
import { startApiPair } from '../support/api-pair.js';
import { inTurn, runConcurrently, together } from '../support/concurrency.js';

const CALLERS = 50;
const CONCURRENCY = 2;

/** Fifty callers use the same idempotency key at once, half of them at one process and half at another. */
export const oneKey: Fault = {
  row: 21,
  name: 'one idempotency key, fifty callers, two processes',
  check: 'one id',
  unit: 'keys',
  full: 1_000,
  everyday: 20,
  rare: true,
  async run(stage, count) {
    const { database, clients } = await startApiPair(stage);
    await runConcurrently(count, CONCURRENCY, async (index) => {
      const key = `key-${index}`;
      const answers = await together(CALLERS, (caller) => {
        const client = inTurn(clients, caller);
        return client.create('work', { payload: { caller }, config: { queue: 'keyed', ...QUICK } }, key);
      });
      const ids = new Set(
        answers.map(({ status, body }) => (status === 201 ? String(body.job_id) : `status ${status ?? ''}`)),
      );
      stage.expect(ids.size === 1, `${key} was answered with ${[...ids].join(', ')}`);
    });
    const jobs = await database.count('millrace.jobs');
    stage.expect(jobs === count, `${count} keys made ${jobs} jobs`);
  },
};
