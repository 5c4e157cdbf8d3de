import type { Fault } from '../fault.js';
import type { Cluster } from '../stage/cluster.js';
import type { Stage } from '../stage/stage.js';
import { creates, endOnCells, startCellsLoad, startOnCells, untilServed, type Tenant } from '../support/cells.js';

const BACK_WITHIN_MS = 15_000;
/** A request to a cell that hangs may take as long as a statement may; to the others it may not. */
const OTHERS_WITHIN_MS = 5_000;

/** One of two databases is crashed, or stops answering without a word, while the service is under load. */
export const lostCells: Fault = {
  row: 54,
  name: 'one of two cells crashed or stopped under load',
  check: 'tenants of the other are served meanwhile, its own again in 15 s',
  unit: 'outages',
  full: 40,
  everyday: 2,
  rare: true,
  async run(stage, count) {
    const clusters = [await stage.cluster(), await stage.cluster()];
    const databases = [await stage.database({ on: clusters[0]! }), await stage.database({ on: clusters[1]! })];
    const { tenants, servers, urls } = await startOnCells(stage, databases);
    const load = startCellsLoad(stage, urls, tenants);
    for (let n = 0; n < count; n++) {
      await stage.sleep(stage.random.between(300, 1_500));
      const lost = Math.floor(n / 2) % 2;
      await stage.outage(async () => {
        const other = tenants[1 - lost]!;
        const end = n % 2 === 0 ? await crash(clusters[lost]!) : stop(clusters[lost]!);
        await othersAreServed(stage, urls, other, stage.random.between(500, 3_000));
        await end();
        const backMs = await untilServed(stage, servers, [tenants[lost]!]);
        stage.expectWithin(BACK_WITHIN_MS, backMs, `outage ${n + 1}: served again`);
      });
    }
    await endOnCells(stage, databases, load);
  },
};

async function crash(cluster: Cluster): Promise<() => Promise<void>> {
  await cluster.stop('immediate');
  return () => cluster.start();
}

function stop(cluster: Cluster): () => Promise<void> {
  cluster.pause();
  return async () => cluster.resume();
}

/** Creates of the other cell's tenant go on, at every server, for as long as this. */
async function othersAreServed(stage: Stage, urls: readonly string[], tenant: Tenant, forMs: number): Promise<void> {
  const until = performance.now() + forMs;
  const clients = urls.map((url) => stage.client(() => url, { tenantKey: tenant.tenantKey }));
  do {
    for (const client of clients) {
      const askedAt = performance.now();
      stage.expect(await creates(client), `${tenant.name} was not served while the other cell was away`);
      stage.expectWithin(OTHERS_WITHIN_MS, performance.now() - askedAt, `a create of ${tenant.name}`);
    }
    await stage.sleep(50);
  } while (performance.now() < until);
}
