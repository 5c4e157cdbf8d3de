import type { Fault } from '../fault.js';
import type { ChaosClient } from '../history/client.js';
import { QUICK } from '../stage/actors.js';
import type { Database } from '../stage/database.js';
import { TENANT_KEY, type ServerProcess } from '../stage/server.js';
import type { Stage } from '../stage/stage.js';
import { breakThings, type Breakable } from '../support/breaking.js';
import { consume } from '../support/consuming.js';
import { setQueue, WITH_OPERATOR } from '../support/queue-settings.js';
import { untilServing } from '../support/serving.js';

const QUEUE = 'turns';
const TENANTS = ['chaos', 'two', 'three'] as const;
const keyOf = (tenant: string): string => (tenant === 'chaos' ? TENANT_KEY : `chaos-key-of-${tenant}`);
const KEYS = TENANTS.map((tenant) => `${keyOf(tenant)}:${tenant}`).join(',');
const CLAIM = { max: 3, secs: 3 } as const;
const MOST_WAITING = 200;
const WITHIN_MS = 60_000;
/** Of each of two tenants; half of them are claimed, one by one. */
const AT_THE_END = 10;

/**
 * Tenants take turns on two queues, one of them that of a pool, and on one of them the setting comes and goes, while
 * servers and PostgreSQL are killed. Whatever happens: each job ends once, those of a queue with turns come into line,
 * those of a queue without leave it, and two who wait get the same.
 */
export const turns: Fault = {
  row: 49,
  name: 'tenants take turns, under kill -9 of servers and PostgreSQL',
  check: 'nobody stuck in a line or outside of it, and each gets its turns afterwards',
  unit: 'kills',
  full: 600,
  everyday: 4,
  async run(stage, count) {
    const cluster = await stage.cluster();
    const database = await stage.database({ on: cluster });
    const env = { ...WITH_OPERATOR, MILLRACE_API_KEYS: KEYS };
    const servers = [await stage.server({ database, env }), await stage.server({ database, env, mode: 'api' })];
    for (const queue of ['default', QUEUE]) stage.expect(await share(servers[0]!, queue, 'tenant'), 'not set');
    let left = count;
    const going = (): boolean => left > 0;
    const onBroken = (): unknown => left--;
    const breakable = { stage, cluster, database, servers, workers: [], startWorker: () => undefined, going, onBroken };
    await stage.outage(async () => {
      const clients = servers.flatMap((server) =>
        TENANTS.map((tenant) => stage.client(server, { tenantKey: keyOf(tenant) })),
      );
      const working = clients.flatMap((client) => [
        create(breakable, client),
        consume(breakable, client, QUEUE, CLAIM),
      ]);
      await Promise.all([breakThings(breakable), changeSettings(breakable), ...working]);
      await untilServing(stage, servers);
    });
    await setAndAwait(stage, servers, database, 'tenant');
    await setAndAwait(stage, servers, database, null);
    await setAndAwait(stage, servers, database, 'tenant');
    const worker = stage.worker({ urls: servers.map(({ url }) => url), queue: QUEUE, leaseSecs: 5, maxJobs: 50 });
    await database.expirePoolLeases();
    await stage.drained(database, WITHIN_MS);
    await worker.terminate();
    await judgeTurns(stage, servers, database);
  },
};

const share = (server: ServerProcess, queue: string, to: 'tenant' | null): Promise<boolean> =>
  setQueue(server, queue, { share: to });

async function create({ stage, database, going }: Breakable, client: ChaosClient): Promise<void> {
  while (going()) {
    if ((await database.count('millrace.ready').catch(() => MOST_WAITING)) < MOST_WAITING) {
      const queue = stage.random.chance(0.3) ? 'default' : QUEUE;
      const jobs = Array.from({ length: stage.random.integer(1, 8) }, () => ({ task_name: 'echo' }));
      const config = { ...QUICK, queue, priority: stage.random.integer(0, 2) };
      const { status, body } = await client.batch(jobs.map((job) => ({ ...job, config })));
      const [first] = (body.job_ids ?? []) as readonly string[];
      if (status === 201 && first !== undefined && stage.random.chance(0.1)) await client.cancel(first);
    }
    await stage.sleep(stage.random.between(5, 50));
  }
}

async function changeSettings({ stage, servers, going }: Breakable): Promise<void> {
  while (going()) {
    await stage.sleep(stage.random.between(300, 1_500));
    await share(stage.random.pick(servers), QUEUE, stage.random.chance(0.4) ? null : 'tenant');
  }
}

/** Jobs of the queue that wait and are due, and are not where they belong. */
async function setAndAwait(
  stage: Stage,
  servers: readonly ServerProcess[],
  database: Database,
  to: 'tenant' | null,
): Promise<void> {
  await stage.until(() => share(stage.random.pick(servers), QUEUE, to), { what: 'the setting', withinMs: WITHIN_MS });
  const sought = to === null ? 'waits_for IS NOT NULL' : 'waits_for IS NULL AND scheduled_at <= now()';
  const misplaced = async (): Promise<true | number> =>
    (await database.count(`millrace.ready WHERE queue = '${QUEUE}' AND ${sought}`)) || true;
  await stage
    .until(async () => (await misplaced()) === true, { what: 'jobs to move', withinMs: WITHIN_MS })
    .catch(async () => {
      const n = await misplaced();
      if (n !== true)
        stage.violation(
          `${n} jobs are in ${to === null ? 'lines though nobody takes' : 'no line of those who take'} turns`,
        );
    });
}

/** Two tenants have the same waiting, in line: what was created through a process that died at once is sorted too. */
async function judgeTurns(stage: Stage, servers: readonly ServerProcess[], database: Database): Promise<void> {
  for (const tenant of ['two', 'three']) {
    const client = stage.client(servers[1]!, { tenantKey: keyOf(tenant) });
    const jobs = Array.from({ length: AT_THE_END }, () => ({ task_name: 'echo', config: { ...QUICK, queue: QUEUE } }));
    const reply = await client.batch(jobs);
    stage.expect(reply.status === 201, `a batch was answered with ${reply.status}`);
  }
  await stage.outage(() => servers[1]!.crashAndRestart());
  await setAndAwait(stage, servers, database, 'tenant');
  const got = new Map<unknown, number>();
  const clients = servers.map((server) => stage.client(server));
  for (let n = 0; n < AT_THE_END; n++) {
    const client = clients[n % clients.length]!;
    for (const { id, token, job } of await client.lease(QUEUE, { wait: 10 })) {
      got.set(job.tenant_id, (got.get(job.tenant_id) ?? 0) + 1);
      await client.complete(id, token);
    }
  }
  const [two = 0, three = 0] = ['two', 'three'].map((tenant) => got.get(tenant) ?? 0);
  stage.expect(two === three && two > 0, `two who wait got ${two} and ${three} turns of ${AT_THE_END}`);
  const worker = stage.worker({ urls: servers.map(({ url }) => url), queue: QUEUE, maxJobs: 50 });
  await stage.drained(database, WITHIN_MS);
  await worker.terminate();
}
