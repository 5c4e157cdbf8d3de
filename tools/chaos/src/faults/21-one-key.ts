import type { Fault } from '../fault.js';
import { QUICK } from '../stage/actors.js';
import { inLanes, inTurn, together } from './support/lanes.js';

const CALLERS = 50;
const LANES = 2;

/** Fifty callers bring the same idempotency key at once, half of them to one process and half to another. */
export const oneKey: Fault = {
  row: 21,
  name: 'one idempotency key, fifty callers, two processes',
  check: 'one id',
  unit: 'keys',
  full: 1_000,
  everyday: 20,
  async run(stage, count) {
    const database = await stage.database();
    const servers = [
      await stage.server({ database, mode: 'api' }),
      await stage.server({ database, mode: 'api' }),
    ] as const;
    const clients = [stage.client(servers[0]), stage.client(servers[1])] as const;
    await inLanes(count, LANES, async (index) => {
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
