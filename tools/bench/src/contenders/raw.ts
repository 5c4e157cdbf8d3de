import { serveCalls } from '../env/child.js';
import { latencyOf, type Latency } from '../latency.js';
import { Progress, type DrainReport } from '../progress.js';
import { BATCH, CALLS_IN_FLIGHT, QUEUE } from '../work.js';
import { inBatches, type Backends, type ContenderMethods } from './contender.js';
import { prepareClaim, prepareInsert, prepareLease, RawSession, type PreparedClaim } from './raw-session.js';

/**
 * The limit of the storage layout: the service's own statements in a loop, with parameters made beforehand and nothing
 * around them. Each draining session has a queue to itself, so it knows which jobs its next claim will return and need
 * not read the answer.
 */
const QUEUES = ['raw-1', 'raw-2'];
const CLAIM = 500;
const LEASE = 100;
const WARM_INSERTS = 1_000;

let databaseUrl = '';
/** The ids of the waiting jobs per queue, in no particular order. */
const waiting = new Map<string, string[]>();

async function insert(jobs: number, queues: readonly string[]): Promise<number> {
  const callers = await Promise.all(
    Array.from({ length: CALLS_IN_FLIGHT }, async (_, n) => {
      const queue = queues[n % queues.length] ?? '';
      const session = await RawSession.open(databaseUrl);
      return { queue, session, prepared: prepareInsert(queue, BATCH), prefixes: [] as string[] };
    }),
  );
  const ms = await inBatches(jobs, async (n) => {
    const caller = callers[n];
    if (caller) caller.prefixes.push(await caller.session.insert(caller.prepared));
  });
  for (const { queue, session, prepared, prefixes } of callers) {
    const ids = prefixes.flatMap((prefix) => prepared.idsAt(prefix));
    waiting.set(queue, (waiting.get(queue) ?? []).concat(ids));
    await session.close();
  }
  return ms;
}

const drain = (jobs: number): Promise<DrainReport> =>
  runClaims(
    jobs,
    QUEUES.map((queue) => claimsFor(queue, CLAIM, prepareClaim)),
  );

/** As remote workers have it done: each job under a lease of its own, a hundred at a time. */
const leaseAndComplete = (jobs: number): Promise<DrainReport> =>
  runClaims(
    jobs,
    QUEUES.map((queue) => claimsFor(queue, LEASE, prepareLease)),
  );

async function runClaims(jobs: number, work: readonly (readonly PreparedClaim[])[]): Promise<DrainReport> {
  const progress = new Progress(jobs);
  const sessions = await Promise.all(QUEUES.map(() => RawSession.open(databaseUrl)));
  await Promise.all(
    sessions.map(async (session, n) => {
      for (const claim of work[n] ?? []) {
        await session.claimAndSettle(claim);
        for (let job = 0; job < claim.jobs; job++) progress.tick();
      }
    }),
  );
  const report = progress.report();
  await Promise.all(sessions.map((session) => session.close()));
  return report;
}

/** Jobs are claimed in order of time and then of id, and the id begins with the time. */
function claimsFor(queue: string, size: number, prepare: typeof prepareClaim): PreparedClaim[] {
  const ids = (waiting.get(queue) ?? []).sort();
  waiting.delete(queue);
  const claims: PreparedClaim[] = [];
  for (let at = 0; at < ids.length; at += size) claims.push(prepare(queue, ids.slice(at, at + size)));
  return claims;
}

const methods = {
  open: async (backends: Backends): Promise<void> => {
    databaseUrl = backends.databaseUrl;
  },
  enqueue: (jobs: number): Promise<number> => insert(jobs, QUEUES),
  /** Adds jobs for the service to drain. */
  preload: (jobs: number): Promise<number> => insert(jobs, [QUEUE]),
  drain,
  leaseAndComplete,

  /** Inserts jobs one after another on one connection, each insert durable. */
  insertSingly: async (count: number): Promise<Latency> => {
    const session = await RawSession.open(databaseUrl);
    const prepared = prepareInsert(QUEUE, 1);
    const ms: number[] = [];
    for (let n = -WARM_INSERTS; n < count; n++) {
      const sentAt = performance.now();
      await session.insert(prepared);
      if (n >= 0) ms.push(performance.now() - sentAt);
    }
    await session.close();
    return latencyOf(ms);
  },
} satisfies ContenderMethods;

export type RawMethods = typeof methods;

serveCalls(methods);
