import { randomUUID } from 'node:crypto';
import type { Fault } from '../fault.js';
import type { ChaosClient } from '../history/client.js';
import { QUICK } from '../stage/actors.js';
import type { ManagedProcess } from '../stage/processes.js';
import type { Stage } from '../stage/stage.js';
import { breakThings, type Breakable, type Span } from '../support/breaking.js';
import { judgeSteps } from '../support/durable-steps.js';
import { untilServing } from '../support/serving.js';

const QUEUE = 'family';
const WORKERS = 2;
const LEASE_SECS = 5;
const MOST_CHILDREN = 6;
const MOST_LIVE = 40;
/** A sweep comes every five seconds, and takes its time. */
const WOKEN_MS = 7_000;
const CANCELLED_MS = 15_000;
/** Times are when transactions began, and the one that wakes a parent may have begun before the last child's. */
const OVERLAP_MS = 1_000;
/** That many looks in a row, over more than two sweeps, are no coincidence. */
const STUCK_LOOKS = 60;
/** Jobs that are done with `doomed` ones: one is left behind by each, on purpose. */
const LEFT_BEHIND = `task = 'leaf' AND payload ->> 'n' = '0'`;

/**
 * Jobs create children and wait for them, some are cancelled meanwhile, while workers, servers and PostgreSQL are
 * killed. Whatever happens: each child exists once, a parent goes on after its last child, once, and soon; and of what
 * a cancelled one has started, nothing is left but what was detached.
 */
export const childrenKills: Fault = {
  row: 48,
  name: 'parents and children, under kill -9 of workers, servers and PostgreSQL',
  check: 'each child exists once, each parent goes on once and soon, no orphans',
  unit: 'kills',
  full: 600,
  everyday: 12,
  rare: true,
  async run(stage, count) {
    const cluster = await stage.cluster();
    const database = await stage.database({ on: cluster });
    const servers = [await stage.server({ database }), await stage.server({ database, mode: 'api' })];
    const [one, two] = servers.map((server) => stage.client(server)) as [ChaosClient, ChaosClient];
    stage.poolQueues.add(QUEUE); // its jobs end without a call that the history knows
    let left = count;
    const workers: ManagedProcess[] = [];
    const startWorker = (): void => {
      const { url } = servers[workers.length % servers.length]!;
      const options = { queue: QUEUE, maxJobs: 10, workMs: [0, 40], failRate: 0.02, leaseSecs: LEASE_SECS } as const;
      workers.push(stage.familyWorker({ urls: [url], ...options }));
    };
    const going = (): boolean => left > 0;
    const onBroken = (): unknown => left--;
    const family: Breakable = { stage, cluster, database, servers, workers, startWorker, going, onBroken };
    for (let n = 0; n < WORKERS; n++) startWorker();
    const away = await stage.outage(async () => {
      const [spans] = await Promise.all([breakThings(family), createParents(family, one), doom(family, two)]);
      await untilServing(stage, servers);
      return spans;
    });
    await expectNoOrphans(family);
    await settled(family);
    await Promise.all(workers.filter(({ isAlive }) => isAlive).map((worker) => worker.terminate()));
    judgeSteps(stage, workers);
    await judgeFamilies(family, away);
  },
};

async function createParents({ stage, database, going }: Breakable, client: ChaosClient): Promise<void> {
  while (going()) {
    if ((await database.liveJobs(`task IN ('parent', 'child')`).catch(() => MOST_LIVE)) >= MOST_LIVE)
      await stage.sleep(50);
    else await createOne(stage, client, 'parent', { children: stage.random.integer(1, MOST_CHILDREN) });
  }
}

/** Creates jobs that would never end, and cancels them: before they have children, with some, or with grandchildren. */
async function doom({ stage, going }: Breakable, client: ChaosClient): Promise<void> {
  const cancelling: Promise<unknown>[] = [];
  while (going()) {
    const id = await createOne(stage, client, 'doomed', {});
    await stage.sleep(stage.random.between(0, 400));
    cancelling.push(cancel(stage, client, id, stage.random.between(0, 2_000)));
  }
  await Promise.all(cancelling);
}

/** Repeated until it is acknowledged. */
async function createOne(stage: Stage, client: ChaosClient, task: string, payload: object): Promise<string> {
  const key = randomUUID();
  let id = '';
  const created = async (): Promise<boolean> => {
    const { status, body } = await client.create(task, { payload, config: { ...QUICK, queue: QUEUE } }, key);
    id = String(body.job_id);
    return status === 201;
  };
  await stage.until(created, { what: 'a job to be taken' });
  return id;
}

async function cancel(stage: Stage, client: ChaosClient, id: string, afterMs: number): Promise<void> {
  await stage.sleep(afterMs);
  // Of two that were sent because the first was not answered, the second may find that it has ended.
  const cancelled = async (): Promise<boolean> => [200, 409].includes((await client.cancel(id)).status ?? 0);
  await stage.until(cancelled, { what: 'a job to be cancelled' });
}

const BELOW_CANCELLED = `
  WITH RECURSIVE below AS (
    SELECT c.child_id FROM millrace.children c JOIN millrace.jobs j ON j.id = c.parent_id
    WHERE j.task = 'doomed' AND NOT c.detached
    UNION SELECT c.child_id FROM millrace.children c JOIN below ON c.parent_id = below.child_id WHERE NOT c.detached
  )
  SELECT r.task, r.status::text FROM millrace.job_records r JOIN below ON r.id = below.child_id`;

/** What cancelled jobs have started is cancelled too, and what they detached is not. */
async function expectNoOrphans({ stage, database }: Breakable): Promise<void> {
  const startedAt = performance.now();
  let below: { task: string; status: string }[] = [];
  await stage.until(
    async () => {
      below = await database.query<{ task: string; status: string }>(BELOW_CANCELLED);
      const left = below.filter(({ status }) => status !== 'cancelled').length;
      return left === 0 || performance.now() - startedAt > 4 * CANCELLED_MS || `${left} descendants left`;
    },
    { what: 'descendants of cancelled jobs to be cancelled', withinMs: 5 * CANCELLED_MS, everyMs: 200 },
  );
  const left = below.filter(({ status }) => status !== 'cancelled').length;
  stage.expect(left === 0, `${left} descendants of cancelled jobs are still there`);
  stage.expectWithin(CANCELLED_MS, performance.now() - startedAt, 'cancelling what cancelled jobs had started');
  stage.expect(below.length > 0, 'no cancelled job had started anything: nothing was tested');
  const [{ n = 0, ended = 0 } = {}] = await database.query<{ n: number; ended: number }>(
    `SELECT count(*)::int AS n, count(*) FILTER (WHERE status IN ('completed', 'failed', 'cancelled'))::int AS ended
     FROM millrace.job_records WHERE ${LEFT_BEHIND}`,
  );
  stage.expect(ended === 0, `${ended} of ${n} detached jobs ended with those that created them`);
  stage.note(`${below.length} descendants of cancelled jobs, ${n} that were detached`);
}

/** All jobs end; or some wait for children that have ended, and do so each time that one looks. */
async function settled({ stage, database }: Breakable): Promise<void> {
  let stuckLooks = 0;
  await stage.until(
    async () => {
      const live = await database.liveJobs(`NOT (${LEFT_BEHIND})`);
      if (live === 0) return true;
      const stuck = await database.count(
        `millrace.waits w WHERE w.open AND w.children IS NOT NULL AND NOT EXISTS (
           SELECT FROM millrace.children c
           WHERE c.parent_id = w.job_id AND c.name = ANY (w.children) AND c.status IS NULL
         )`,
      );
      stuckLooks = stuck > 0 ? stuckLooks + 1 : 0;
      if (stuckLooks < STUCK_LOOKS) return `${live} jobs left`;
      stage.violation(`${stuck} parents wait for children that have all ended`);
      return true;
    },
    { what: 'every job to end', withinMs: 120_000, everyMs: 200 },
  );
}

interface Parent {
  readonly id: string;
  readonly status: string;
  /** How many children it was to have, has by its own account, and how many jobs there are. */
  readonly asked: number;
  readonly told: number;
  readonly made: number;
  readonly begins: number;
  readonly ends: number;
  /** In milliseconds: the end of its last child, or of the attempt that began to wait, whichever came later. */
  readonly ready: number;
  readonly last: number;
  readonly woken: number;
}

const PARENTS = `
  SELECT p.id::text, p.status::text, (p.payload ->> 'children')::int AS asked, c.told, made.n AS made, made.last,
         notes.begins, notes.ends, greatest(made.last, waited.at) AS ready, c.woken
  FROM millrace.job_records p
  LEFT JOIN LATERAL (
    SELECT json_array_length(c.value -> 'children') AS told, extract(epoch FROM c.at)::float8 * 1000 AS woken
    FROM millrace.checkpoints c WHERE c.job_id = p.id AND c.name = 'all'
  ) AS c ON true,
  LATERAL (
    SELECT count(*)::int AS n, max(extract(epoch FROM k.completed_at))::float8 * 1000 AS last
    FROM millrace.job_records k WHERE k.task = 'child' AND k.payload ->> 'parent' = p.id::text
  ) AS made,
  LATERAL (
    SELECT count(*) FILTER (WHERE k.payload ->> 'of' = 'begin')::int AS begins,
           count(*) FILTER (WHERE k.payload ->> 'of' = 'end')::int AS ends
    FROM millrace.jobs k WHERE k.task = 'note' AND k.payload ->> 'parent' = p.id::text
  ) AS notes,
  LATERAL (
    SELECT max(extract(epoch FROM a.ended_at))::float8 * 1000 AS at FROM millrace.attempts a
    WHERE a.job_id = p.id AND a.outcome = 'suspended'
  ) AS waited
  WHERE p.task = 'parent'`;

async function judgeFamilies({ stage, database }: Breakable, away: readonly Span[]): Promise<void> {
  const parents = await database.query<Parent>(PARENTS);
  let slowest = 0;
  for (const { id, status, asked, told, made, begins, ends, ready, last, woken } of parents) {
    const found = { told, made, begins, ends };
    stage.expect(
      JSON.stringify(found) === JSON.stringify({ told: asked, made: asked, begins: 1, ends: 1 }),
      `the ${status} parent ${id} with ${asked} children has ${JSON.stringify(found)}`,
    );
    stage.expect(status === 'completed', `the parent ${id} is ${status}`);
    stage.expect(
      woken >= last - OVERLAP_MS,
      `the parent ${id} went on ${last - woken} ms before its last child had ended`,
    );
    if (away.some(({ from, to }) => from < woken && to + WOKEN_MS > ready)) continue;
    slowest = Math.max(slowest, woken - ready);
    stage.expectWithin(WOKEN_MS, woken - ready, `the parent ${id} went on after its last child`);
  }
  stage.expect(parents.length > 0, 'no parent was created: nothing was tested');
  stage.note(`${parents.length} parents, the slowest woken after ${Math.round(slowest)} ms`);
}
