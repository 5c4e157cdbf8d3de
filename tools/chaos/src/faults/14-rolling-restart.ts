import type { Fault } from '../fault.js';
import { startBalancer } from '../support/balancer.js';
import { expectNoFailedRequest } from '../support/failed-requests.js';
import { startLoad } from '../support/load.js';

/**
 * Servers behind a load balancer are restarted one after another under load: each is taken out of the balancer and told
 * to stop at the same moment, then started again and put back, as docs/operations.md says.
 */
export const rollingRestart: Fault = {
  row: 14,
  name: 'rolling SIGTERM under load',
  check: 'no failed request through a balancer, no expired lease',
  unit: 'restarts',
  full: 50,
  everyday: 2,
  alone: true,
  async run(stage, count) {
    const database = await stage.database();
    const servers = await Promise.all([1, 2, 3].map(() => stage.server({ database })));
    const balancer = await startBalancer(servers);
    try {
      const load = startLoad(stage, [balancer.url], { leaseSecs: 10, maxJobs: 10, waitSecs: 2 });
      for (let restart = 0; restart < count; restart++) {
        await stage.sleep(stage.random.between(100, 800));
        const server = servers[restart % servers.length]!;
        // At the same moment: requests sent there just before meet a server that is shutting down.
        balancer.takeOut(server);
        await server.process.terminate();
        await server.start();
        balancer.putBack(server);
      }
      await load.stopProducing();
      await stage.drained(database);
      await load.stopWorking();
      expectNoFailedRequest(stage);
      // No job was told to fail, so a job that was retried had lost its lease.
      const expired = await database.count('millrace.job_records WHERE retry_count > 0');
      stage.expect(expired === 0, `${expired} jobs lost their lease`);
    } finally {
      await balancer.close();
    }
  },
};
