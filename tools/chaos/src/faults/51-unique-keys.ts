import type { Fault } from '../fault.js';
import type { ChaosClient, Reply } from '../history/client.js';
import { QUICK } from '../stage/actors.js';
import type { Database } from '../stage/database.js';
import type { Stage } from '../stage/stage.js';
import { breakThings, type Breakable } from '../support/breaking.js';
import { inTurn, together } from '../support/concurrency.js';
import { consume } from '../support/consuming.js';
import { untilServing } from '../support/serving.js';

const QUEUE = 'unique';
const CALLERS = 50;
/** While one has not ended, there is no other; while one waits, it is replaced. */
const KINDS = [
  { keys: ['report-1', 'report-2'], unique: { while: 'unfinished' } },
  { keys: ['rebuild-1', 'rebuild-2'], unique: { while: 'waiting', on_conflict: 'replace' } },
] as const;
const CLAIM = { max: 2, secs: 2 } as const;

/**
 * Fifty callers at a time create a job of one unique key, half of them at one process and half at another, while
 * workers complete, fail and forget those jobs and servers, connections and PostgreSQL are killed. Whatever happens: no
 * two jobs of a key are there that exclude each other, and in the end no key is taken by a job that has ended.
 */
export const uniqueKeys: Fault = {
  row: 51,
  name: 'unique keys, fifty callers, under kill -9 of servers and PostgreSQL',
  check: 'never two jobs of one key, no key taken for good',
  unit: 'kills',
  full: 400,
  everyday: 4,
  rare: true,
  async run(stage, count) {
    const cluster = await stage.cluster();
    const database = await stage.database({ on: cluster });
    const options = { database, mode: 'api' } as const;
    const servers = [await stage.server(options), await stage.server(options)] as const;
    const clients = [stage.client(servers[0]), stage.client(servers[1])] as const;
    let left = count;
    const going = (): boolean => left > 0;
    const onBroken = (): unknown => left--;
    const breakable = { stage, cluster, database, servers, workers: [], startWorker: () => undefined, going, onBroken };
    await stage.outage(async () => {
      const working = clients.map((client) => consume(breakable, client, QUEUE, CLAIM));
      const racing = KINDS.flatMap(({ keys, unique }) =>
        keys.map((key) => race(breakable, clients, { key, ...unique })),
      );
      await Promise.all([breakThings(breakable), watch(breakable), ...working, ...racing]);
      await untilServing(stage, servers);
    });
    const urls = servers.map(({ url }) => url);
    const workers = [QUEUE, 'default'].map((queue) => stage.worker({ urls, queue, leaseSecs: 5 }));
    await stage.drained(database);
    await Promise.all(workers.map((worker) => worker.terminate()));
    await expectFree(stage, clients[0]);
  },
};

interface Unique {
  readonly key: string;
  readonly while: 'waiting' | 'unfinished';
  readonly on_conflict?: 'replace';
}

const create = (client: ChaosClient, unique: Unique, caller: number): Promise<Reply> =>
  client.create('work', { payload: { caller }, config: { ...QUICK, queue: QUEUE, unique } });

async function race(
  { stage, going }: Breakable,
  clients: readonly [ChaosClient, ChaosClient],
  unique: Unique,
): Promise<void> {
  let existing = 0;
  while (going()) {
    const answers = await together(CALLERS, (caller) => create(inTurn(clients, caller), unique, caller));
    existing += answers.filter(({ headers }) => headers['millrace-existing'] === 'true').length;
    await stage.sleep(stage.random.between(0, 100));
  }
  stage.expect(existing > 0, `no caller was told of another job of ${unique.key}: nothing was tested`);
}

/** As of one snapshot. */
async function watch({ stage, database, going }: Breakable): Promise<void> {
  while (going()) {
    for (const { keys, unique } of KINDS) {
      const rows = await together(keys.length, (n) => countOf(database, keys[n]!, unique.while));
      for (const [n, found] of rows.entries()) {
        if (found > 1) stage.violation(`${found} jobs of the unique key ${keys[n]!} were ${unique.while} at once`);
      }
    }
    await stage.sleep(10);
  }
}

async function countOf(database: Database, key: string, state: 'waiting' | 'unfinished'): Promise<number> {
  const there =
    state === 'waiting'
      ? 'EXISTS (SELECT FROM millrace.ready r WHERE r.tenant = j.tenant AND r.id = j.id AND r.delivery_count = 0)'
      : 'NOT EXISTS (SELECT FROM millrace.done d WHERE d.tenant = j.tenant AND d.id = j.id)';
  const jobs = `millrace.jobs j WHERE j.queue = '${QUEUE}' AND j.config #>> '{unique,key}' = '${key}' AND ${there}`;
  return database.count(jobs).catch(() => 0);
}

/** All jobs have ended: each key can be had. */
async function expectFree(stage: Stage, client: ChaosClient): Promise<void> {
  for (const { keys, unique } of KINDS) {
    for (const key of keys) {
      const { status } = await create(client, { key, ...unique }, 0);
      stage.expect(status === 201, `${key} was still taken after its jobs had ended: ${status ?? 'no answer'}`);
    }
  }
}
