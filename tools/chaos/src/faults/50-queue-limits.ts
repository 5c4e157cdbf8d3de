import type { Fault } from '../fault.js';
import type { ChaosClient } from '../history/client.js';
import { QUICK } from '../stage/actors.js';
import type { Database } from '../stage/database.js';
import type { Stage } from '../stage/stage.js';
import { breakThings, type Breakable } from '../support/breaking.js';
import { consume } from '../support/consuming.js';
import { setQueue, WITH_OPERATOR } from '../support/queue-settings.js';
import { untilServing } from '../support/serving.js';

/** So many may run there; the setting changes between fewer and these. */
const COUNTED = { queue: 'counted', most: 4 } as const;
/** So many may start: of a whole queue, and of a key. Few, so that a slow machine could start more. */
const PACED = { queue: 'paced', rate: { count: 6, per_secs: 2, burst: 2 } } as const;
const KEYED = { queue: 'keyed', rate: { count: 6, per_secs: 2, burst: 2 } } as const;
const QUEUES = [COUNTED.queue, PACED.queue, KEYED.queue] as const;
const CLAIM = { max: 6, secs: 2 } as const;
/** There from the beginning: more than may start within a few kills. */
const BACKLOG = 16;
const MOST_WAITING = 50;

/**
 * Jobs of a queue with a limit, of one with a rate and of a key with a rate are created, completed, failed and
 * forgotten through two processes, while servers and PostgreSQL are killed and the settings change. Whatever happens:
 * no more run than may, and in no span do more start than the rate and its burst allow.
 */
export const queueLimits: Fault = {
  row: 50,
  name: 'limits and rates of queues, and rates of keys, under kill -9 of servers and PostgreSQL',
  check: 'never above the limit, no span with more starts than the rate allows, nobody stuck',
  unit: 'kills',
  full: 600,
  everyday: 4,
  async run(stage, count) {
    const cluster = await stage.cluster();
    const database = await stage.database({ on: cluster });
    await recordStarts(database);
    const options = { database, mode: 'api', env: WITH_OPERATOR } as const;
    const servers = [await stage.server(options), await stage.server(options)];
    const counted = { running: COUNTED.most };
    stage.expect(await setQueue(servers[0]!, COUNTED.queue, counted), 'the limit was not set');
    stage.expect(await setQueue(servers[0]!, PACED.queue, { rate: PACED.rate }), 'the rate was not set');
    const client = stage.client(servers[0]!);
    for (const queue of QUEUES) await client.batch(Array.from({ length: BACKLOG }, () => jobOf(queue)));
    let left = count;
    let stopped = false;
    const going = (): boolean => left > 0;
    const onBroken = (): unknown => left--;
    const breakable = { stage, cluster, database, servers, workers: [], startWorker: () => undefined, going, onBroken };
    const watching = watch(stage, database, () => stopped);
    await stage.outage(async () => {
      const clients = servers.map((server) => stage.client(server));
      const working = clients.flatMap((client) => [
        create(breakable, client),
        ...QUEUES.flatMap((queue) => [1, 2].map(() => consume(breakable, client, queue, CLAIM))),
      ]);
      await Promise.all([breakThings(breakable), changeSettings(breakable), ...working]);
      await untilServing(stage, servers);
    });
    const urls = servers.map(({ url }) => url);
    const workers = QUEUES.map((queue) => stage.worker({ urls, queue, leaseSecs: 5, maxJobs: 20 }));
    // The jobs of untilServing are for no worker of these.
    workers.push(stage.worker({ urls, queue: 'default' }));
    await stage.drained(database);
    stopped = true;
    await Promise.all([watching, ...workers.map((worker) => worker.terminate())]);
    await judgeRunning(stage, database);
    for (const paced of [PACED, KEYED]) await judgeRate(stage, database, paced);
  },
};

/** Each delivery, by the clock of the database, and how many run then: also those of which nobody heard. */
async function recordStarts(database: Database): Promise<void> {
  await database.query(
    `CREATE TABLE public.chaos_starts (at timestamptz NOT NULL, queue text NOT NULL, running int NOT NULL)`,
  );
  await database.query(
    `CREATE FUNCTION public.chaos_start() RETURNS trigger LANGUAGE plpgsql AS $$
     BEGIN
       INSERT INTO public.chaos_starts
       SELECT NEW.started_at, NEW.queue, count(*) FROM millrace.leases WHERE queue = NEW.queue;
       RETURN NULL;
     END $$`,
  );
  await database.query(
    `CREATE TRIGGER chaos_start AFTER INSERT ON millrace.leases FOR EACH ROW WHEN (NEW.queue IS NOT NULL)
     EXECUTE FUNCTION public.chaos_start()`,
  );
}

async function create({ stage, database, going }: Breakable, client: ChaosClient): Promise<void> {
  while (going()) {
    if ((await database.count('millrace.ready').catch(() => MOST_WAITING)) < MOST_WAITING) {
      const queue = stage.random.pick(QUEUES);
      const { status, body } = await client.create('echo', jobOf(queue));
      if (status === 201 && stage.random.chance(0.05)) await client.cancel(String(body.job_id));
    }
    await stage.sleep(stage.random.between(5, 20));
  }
}

function jobOf(queue: (typeof QUEUES)[number]) {
  const limits = queue === KEYED.queue ? { limits: [{ key: 'partner', rate: KEYED.rate }] } : {};
  return { task_name: 'echo', config: { ...QUICK, queue, ...limits } };
}

/** Only ever to less than what is judged, and back. */
async function changeSettings({ stage, servers, going }: Breakable): Promise<void> {
  while (going()) {
    await stage.sleep(stage.random.between(200, 1_000));
    await setQueue(stage.random.pick(servers), COUNTED.queue, { running: stage.random.integer(2, COUNTED.most) });
    const count = stage.random.integer(3, PACED.rate.count);
    await setQueue(stage.random.pick(servers), PACED.queue, { rate: { ...PACED.rate, count } });
  }
}

/** Two claims that do not see each other are seen by nobody else either, unless somebody looks from outside. */
async function watch(stage: Stage, database: Database, stopped: () => boolean): Promise<void> {
  while (!stopped()) {
    const running = await database.count(`millrace.leases WHERE queue = '${COUNTED.queue}'`).catch(() => 0);
    if (running > COUNTED.most) stage.violation(`${running} jobs ran at once on a queue for ${COUNTED.most}`);
    await stage.sleep(10);
  }
}

async function judgeRunning(stage: Stage, database: Database): Promise<void> {
  const [starts] = await database.query<{ most: number }>(
    'SELECT coalesce(max(running), 0) AS most FROM public.chaos_starts WHERE queue = $1',
    [COUNTED.queue],
  );
  const { most } = starts!;
  if (most > COUNTED.most) stage.violation(`${most} jobs ran at once on a queue for ${COUNTED.most}`);
  stage.expect(most >= COUNTED.most, `the limit was never reached: ${most} jobs at most`);
}

async function judgeRate(
  stage: Stage,
  database: Database,
  { queue, rate }: typeof PACED | typeof KEYED,
): Promise<void> {
  const [span] = await database.query<{ most: number; starts: number }>(
    `SELECT coalesce(max(n), 0)::int AS most, count(*)::int AS starts FROM (
       SELECT count(*) OVER (
         ORDER BY at RANGE BETWEEN CURRENT ROW AND ${rate.per_secs * 1_000 - 1} * interval '1 millisecond' FOLLOWING
       ) AS n FROM public.chaos_starts WHERE queue = $1
     ) AS spans`,
    [queue],
  );
  const { most, starts } = span!;
  stage.note(`${queue}: ${starts} starts, at most ${most} within ${rate.per_secs} s`);
  const allowed = rate.count + rate.burst;
  if (most > allowed) stage.violation(`${most} jobs of ${queue} started within ${rate.per_secs} s, and ${allowed} may`);
  stage.expect(starts > rate.burst, `${starts} jobs of ${queue} started: nothing was tested`);
}
