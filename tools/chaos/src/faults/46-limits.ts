import { monotonicMs } from '@millrace/tools-shared';
import type { Fault } from '../fault.js';
import type { ChaosClient } from '../history/client.js';
import { QUICK } from '../stage/actors.js';
import type { Database } from '../stage/database.js';
import type { ServerProcess } from '../stage/server.js';
import type { Stage } from '../stage/stage.js';

const QUEUE = 'limited';
const KEYS = 8;
const PER_KEY = 3;
/** Half of the jobs name this one too. */
const SHARED = 'shared';
const OF_SHARED = 10;
/** Its number changes from job to job; nothing is promised of it but that nobody is stuck. */
const CHANGING = 'changing';
const MOST_CHANGING = 4;
const CONSUMERS = 5;
const MOST_WAITING = 300;

/**
 * Jobs of a few keys are created, run, failed, forgotten and cancelled through two processes, one of which also runs
 * jobs itself, while the processes are killed and their connections terminated. Whatever happens: no key runs more jobs
 * than it may, and in the end nobody waits and no room is left behind (that is for the doctor to say).
 */
export const limits: Fault = {
  row: 46,
  name: 'limits by key, under kill -9 of servers and terminated backends',
  check: 'never above the limit, nobody stuck, no room left behind',
  unit: 'seconds',
  full: 600,
  everyday: 10,
  async run(stage, count) {
    const database = await stage.database();
    const servers = [await stage.server({ database, mode: 'api' }), await stage.server({ database })];
    const clients = servers.map((server) => stage.client(server));
    // More than have room, from the beginning: however slow the machine is, there is something to see.
    for (let key = 0; key < KEYS; key++) await clients[0]!.batch(Array.from({ length: 2 * PER_KEY }, () => jobOf(key)));
    const endsAt = monotonicMs() + count * 1_000;
    const episode: Episode = { stage, database, servers, clients, going: () => monotonicMs() < endsAt };
    await stage.outage(async () => {
      await Promise.all([
        breakThings(episode),
        watch(episode),
        ...clients.map((client) => create(episode, client)),
        ...Array.from({ length: CONSUMERS }, (_, n) => consume(episode, clients[n % clients.length]!)),
      ]);
    });
    const worker = stage.worker({ urls: servers.map(({ url }) => url), queue: QUEUE, leaseSecs: 5, maxJobs: 50 });
    await database.expirePoolLeases();
    await stage.drained(database);
    await worker.terminate();
    await stage.until(
      async () => {
        const left = await database.query(`SELECT key, running FROM millrace.limits WHERE running <> 0 OR waiting`);
        return left.length === 0 || JSON.stringify(left);
      },
      { what: 'all room to be given back', withinMs: 30_000 },
    );
  },
};

interface Episode {
  readonly stage: Stage;
  readonly database: Database;
  readonly servers: readonly ServerProcess[];
  readonly clients: readonly ChaosClient[];
  readonly going: () => boolean;
}

async function breakThings({ stage, database, servers, going }: Episode): Promise<void> {
  let [kills, terminated] = [0, 0];
  while (going()) {
    await stage.sleep(stage.random.between(200, 900));
    if (stage.random.below(4) > 0) {
      await database.terminateBackends(`application_name <> 'chaos'`, stage.random.integer(1, 3));
      terminated++;
      continue;
    }
    const victim = servers[stage.random.below(servers.length)]!;
    await victim.process.kill();
    await victim.start();
    kills++;
  }
  stage.note(`${kills} kills of servers, connections terminated ${terminated} times`);
}

async function create({ stage, database, going }: Episode, client: ChaosClient): Promise<void> {
  while (going()) {
    if ((await database.count('millrace.ready')) < MOST_WAITING) {
      for (let n = 0; n < 20; n++) {
        const { status, body } = await client.create('echo', { config: configOf(stage) });
        if (status === 201 && stage.random.below(15) === 0) await client.cancel(String(body.job_id));
      }
    }
    await stage.sleep(20);
  }
}

const jobOf = (key: number) => ({
  task_name: 'echo',
  config: { ...QUICK, queue: QUEUE, limits: [{ key: `key-${key}`, running: PER_KEY }] },
});

function configOf({ random }: Stage): object {
  const key = { key: `key-${random.below(KEYS)}`, running: PER_KEY };
  const second = [
    [{ key: SHARED, running: OF_SHARED }],
    [{ key: CHANGING, running: random.integer(1, MOST_CHANGING) }],
    [],
    [],
  ][random.below(4)]!;
  const limits = random.below(2) === 0 ? [key, ...second] : [...second, key];
  return { ...QUICK, queue: random.below(3) === 0 ? 'default' : QUEUE, limits };
}

async function consume({ stage, going }: Episode, client: ChaosClient): Promise<void> {
  while (going()) {
    for (const { id, token } of await client.lease(QUEUE, { max: 4, secs: 3, wait: 1 })) {
      await stage.sleep(stage.random.between(0, 30));
      const choice = stage.random.below(20);
      if (choice < 14) await client.complete(id, token);
      else if (choice < 17) await client.fail(id, token);
      else if (choice < 18) await client.cancel(id);
      // The others are forgotten, and expire.
    }
  }
}

/** What runs or may be claimed, as of one snapshot. A key of either queue is a key of its own. */
async function watch({ stage, database, going }: Episode): Promise<void> {
  let most = 0;
  let looks = 0;
  while (going()) {
    const rows = await database
      .query<{ key: string; n: number }>(
        `SELECT l.queue || '/' || l.key AS key, count(*)::int AS n
         FROM millrace.jobs j, unnest(j.limits) AS each (id) JOIN millrace.limits l ON l.id = each.id
         WHERE j.limits IS NOT NULL AND (
           EXISTS (SELECT FROM millrace.leases x WHERE x.id = j.id)
           OR EXISTS (SELECT FROM millrace.ready r WHERE r.tenant = j.tenant AND r.id = j.id AND r.later IS NOT FALSE))
         GROUP BY 1`,
      )
      .catch(() => []);
    for (const { key, n } of rows) {
      const limit = key.endsWith(SHARED) ? OF_SHARED : key.endsWith(CHANGING) ? MOST_CHANGING : PER_KEY;
      if (n > limit) stage.violation(`${n} jobs of ${key} held room for ${limit}`);
      most = Math.max(most, n);
    }
    looks++;
    await stage.sleep(50);
  }
  stage.expect(most >= PER_KEY, `no key ever reached its limit in ${looks} looks: nothing was tested`);
}
