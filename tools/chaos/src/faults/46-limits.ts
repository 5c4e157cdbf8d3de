import type { Fault } from '../fault.js';
import type { ChaosClient } from '../history/client.js';
import { QUICK } from '../stage/actors.js';
import type { Stage } from '../stage/stage.js';
import { breakThings, type Breakable } from '../support/breaking.js';
import { pauseQueue, WITH_OPERATOR } from '../support/queue-settings.js';
import { untilServing } from '../support/serving.js';

/** Remote workers have one of the queues, the pool of a server the other: it claims several jobs under one lease. */
const QUEUES = ['limited', 'default'] as const;
const [REMOTE, POOLED] = QUEUES;
const KEYS = 8;
const PER_KEY = 3;
/** A quarter of the jobs names this one too. */
const SHARED = 'shared';
const OF_SHARED = 10;
/** Another quarter names this one, of which mostly less than half is taken. */
const AMPLE = 'ample';
const OF_AMPLE = 100;
/** And another this one. Its number changes from job to job, up to this. */
const CHANGING = 'changing';
const MOST_CHANGING = 4;
const CONSUMERS = 5;
const MOST_WAITING = 300;

/**
 * Jobs of a few keys are created, run, failed, forgotten and cancelled through two processes, one of which also runs
 * jobs itself, while queues are paused, processes and PostgreSQL killed and connections terminated. Whatever happens:
 * no key runs more jobs than it may, and in the end nobody waits and no room is left behind (that is for the doctor to
 * say).
 */
export const limits: Fault = {
  row: 46,
  name: 'limits by key, under kill -9 of servers and PostgreSQL and terminated backends',
  check: 'never above the limit, nobody stuck, no room left behind',
  unit: 'kills',
  full: 600,
  everyday: 8,
  async run(stage, count) {
    const cluster = await stage.cluster();
    const database = await stage.database({ on: cluster });
    const env = WITH_OPERATOR;
    const servers = [await stage.server({ database, env, mode: 'api' }), await stage.server({ database, env })];
    const clients = servers.map((server) => stage.client(server));
    // More than have room, from the beginning: however slow the machine is, there is something to see.
    for (const queue of QUEUES)
      for (let key = 0; key < KEYS; key++)
        await clients[0]!.batch(Array.from({ length: 2 * PER_KEY }, () => jobOf(queue, key)));
    let left = count;
    const going = (): boolean => left > 0;
    const onBroken = (): unknown => left--;
    const breakable = { stage, cluster, database, servers, workers: [], startWorker: () => undefined, going, onBroken };
    await stage.outage(async () => {
      await Promise.all([
        breakThings(breakable),
        watch(breakable),
        pause(breakable),
        ...clients.map((client) => create(breakable, client)),
        ...Array.from({ length: CONSUMERS }, (_, n) => consume(breakable, clients[n % clients.length]!)),
      ]);
      await untilServing(stage, servers);
    });
    for (const queue of QUEUES) {
      const resumed = (): Promise<boolean> => pauseQueue(servers[0]!, queue, 'resume');
      await stage.until(resumed, { what: `${queue} to be resumed` });
    }
    const worker = stage.worker({ urls: servers.map(({ url }) => url), queue: REMOTE, leaseSecs: 5, maxJobs: 50 });
    await database.expirePoolLeases();
    await stage.drained(database);
    await worker.terminate();
    await stage.until(
      async () => {
        const kept = await database.query(
          `SELECT l.key, l.running - coalesce(sum(g.n), 0) AS running
           FROM millrace.limits l LEFT JOIN millrace.given_back g ON g.limit_id = l.id
           GROUP BY l.id HAVING l.running <> coalesce(sum(g.n), 0) OR l.waiting`,
        );
        return kept.length === 0 || JSON.stringify(kept);
      },
      { what: 'all room to be given back' },
    );
  },
};

async function create({ stage, database, going }: Breakable, client: ChaosClient): Promise<void> {
  while (going()) {
    if ((await database.count('millrace.ready').catch(() => MOST_WAITING)) < MOST_WAITING) {
      if (stage.random.chance(0.3)) await client.batch(Array.from({ length: 20 }, () => randomJob(stage)));
      else {
        const { status, body } = await client.create('echo', randomJob(stage));
        if (status === 201 && stage.random.chance(0.1)) await client.cancel(String(body.job_id));
      }
    }
    await stage.sleep(stage.random.between(0, 10));
  }
}

const keyOf = (key: number): object => ({ key: `key-${key}`, running: PER_KEY });

const jobOf = (queue: string, key: number) => ({
  task_name: 'echo',
  config: { ...QUICK, queue, limits: [keyOf(key)] },
});

function randomJob({ random }: Stage) {
  const key = keyOf(random.below(KEYS));
  const second = [
    [{ key: SHARED, running: OF_SHARED }],
    [{ key: CHANGING, running: random.integer(1, MOST_CHANGING) }],
    [{ key: AMPLE, running: OF_AMPLE }],
    [],
  ][random.below(4)]!;
  const limits = random.chance(0.5) ? [key, ...second] : [...second, key];
  return { task_name: 'echo', config: { ...QUICK, queue: random.chance(0.4) ? POOLED : REMOTE, limits } };
}

async function consume({ stage, going }: Breakable, client: ChaosClient): Promise<void> {
  while (going()) {
    for (const { id, token } of await client.lease(REMOTE, { max: 4, secs: 3, wait: 1 })) {
      await stage.sleep(stage.random.between(0, 30));
      const choice = stage.random.below(20);
      if (choice < 14) await client.complete(id, token);
      else if (choice < 17) await client.fail(id, token);
      else if (choice < 18) await client.cancel(id);
      // The others are forgotten, and expire.
    }
  }
}

/** Of keys with a number of their own. */
const MOST_OF: Readonly<Record<string, number>> = { [SHARED]: OF_SHARED, [CHANGING]: MOST_CHANGING, [AMPLE]: OF_AMPLE };

/** For moments: what is admitted keeps its room meanwhile. */
async function pause({ stage, servers, going }: Breakable): Promise<void> {
  while (going()) {
    const queue = stage.random.pick(QUEUES);
    await pauseQueue(stage.random.pick(servers), queue, 'pause');
    await stage.sleep(stage.random.between(50, 300));
    await pauseQueue(stage.random.pick(servers), queue, 'resume');
    await stage.sleep(stage.random.between(300, 1_000));
  }
}

/** What runs, alone or in a bundle, or may be claimed, as of one snapshot. Keys of the two queues are not the same. */
async function watch({ stage, database, going }: Breakable): Promise<void> {
  let most = 0;
  let looks = 0;
  let bundled = 0;
  while (going()) {
    const rows = await database
      .query<{ key: string; n: number; bundled: number }>(
        `SELECT l.queue || '/' || l.key AS key, count(*)::int AS n, count(*) FILTER (WHERE holder.bundled)::int AS bundled
         FROM (
           SELECT tenant, id, bundled FROM millrace.running
           UNION ALL
           SELECT tenant, id, false FROM millrace.ready WHERE limits IS NOT NULL AND later IS NOT FALSE
         ) AS holder JOIN millrace.jobs j ON j.tenant = holder.tenant AND j.id = holder.id,
         unnest(j.limits) AS each (id) JOIN millrace.limits l ON l.id = each.id
         GROUP BY 1`,
      )
      .catch(() => []);
    for (const { key, n, bundled: together } of rows) {
      const limit = MOST_OF[key.slice(key.indexOf('/') + 1)] ?? PER_KEY;
      if (n > limit) stage.violation(`${n} jobs of ${key} held room for ${limit}`);
      most = Math.max(most, n);
      bundled += together;
    }
    looks++;
    await stage.sleep(50);
  }
  stage.note(`${looks} looks, ${bundled} times at a job in a bundle`);
  stage.expect(most >= PER_KEY, `no key ever reached its limit in ${looks} looks: nothing was tested`);
}
