import { latencyOf, type Latency } from '../latency.js';
import { QUEUE, RESULT_TEXT, WORKER_TOKEN } from '../work.js';
import { Connection, expectStatus, post } from './connection.js';

/**
 * Remote workers: each leases a hundred jobs at a time and reports every one of them with a separate request, or all of
 * them with one.
 */
export interface RemoteWork {
  readonly port: number;
  readonly workers: number;
  /** How many jobs a worker runs at once, each on a separate connection. Null: it reports a hundred with one call. */
  readonly connectionsEach: number | null;
  readonly jobs: number;
}

export interface WorkDone extends Latency {
  /** Completions per second, without the first fifth. */
  readonly perSecond: number;
}

interface Leased {
  readonly job: { readonly id: string };
  readonly lease_token: string;
}

const LEASE = post(
  `/api/v1/queues/${QUEUE}/lease`,
  WORKER_TOKEN,
  JSON.stringify({ max_jobs: 100, lease_secs: 300, wait_secs: 0 }),
);
const WARM_SHARE = 0.2;
const HEARTBEAT_MS = 1_000;

export async function workRemotely({ port, workers, connectionsEach, jobs }: RemoteWork): Promise<WorkDone> {
  const ms: number[] = [];
  let warmAt = NaN;
  const completed = (took: number): void => {
    if (ms.push(took) === Math.floor(jobs * WARM_SHARE)) warmAt = performance.now();
  };
  const run = (): Promise<void> =>
    connectionsEach === null ? runBatchWorker(port, completed) : runWorker(port, connectionsEach, completed);
  await Promise.all(Array.from({ length: workers }, run));
  if (ms.length !== jobs) throw new Error(`${ms.length} of ${jobs} jobs were completed`);
  const warm = Math.floor(jobs * WARM_SHARE);
  const seconds = (performance.now() - warmAt) / 1000;
  return { perSecond: (jobs - warm) / seconds, ...latencyOf(ms.slice(warm)) };
}

/** Leases the next jobs while these are being completed, as a worker does to stay busy. */
async function runWorker(port: number, connectionsEach: number, completed: (ms: number) => void): Promise<void> {
  const leasing = await Connection.open(port);
  const reporting = await Connection.openMany(port, connectionsEach);
  let next = lease(leasing);
  for (;;) {
    const leased = await next;
    if (leased.length === 0) break;
    next = lease(leasing);
    await Promise.all(reporting.map((connection) => complete(connection, leased, completed)));
  }
  for (const connection of [leasing, ...reporting]) connection.close();
}

/** The same with one call per hundred jobs; what it holds for long is kept alive with one call, too. */
async function runBatchWorker(port: number, completed: (ms: number) => void): Promise<void> {
  const [leasing, reporting, beating] = await Connection.openMany(port, 3);
  if (!leasing || !reporting || !beating) throw new Error('no connections');
  let inHand: readonly Leased[] = [];
  let beat: Promise<void> = Promise.resolve();
  const timer = setInterval(() => {
    if (inHand.length > 0) beat = heartbeat(beating, inHand);
  }, HEARTBEAT_MS);
  let next = lease(leasing);
  for (;;) {
    const leased = await next;
    if (leased.length === 0) break;
    inHand = leased;
    next = lease(leasing);
    await reportAll(reporting, leased, completed);
  }
  clearInterval(timer);
  await beat;
  for (const connection of [leasing, reporting, beating]) connection.close();
}

async function reportAll(
  connection: Connection,
  leased: readonly Leased[],
  completed: (ms: number) => void,
): Promise<void> {
  const sentAt = performance.now();
  const reports = leased.map(
    ({ job, lease_token: token }) =>
      `{"job_id":"${job.id}","lease_token":"${token}","outcome":"completed","result":${RESULT_TEXT}}`,
  );
  const reply = await connection.request(post('/api/v1/reports', WORKER_TOKEN, `{"reports":[${reports.join(',')}]}`));
  expectStatus(reply, 200);
  const { reports: answers } = JSON.parse(reply.body.toString('utf8')) as { reports: { ok?: true }[] };
  for (const { ok } of answers) {
    if (!ok) throw new Error('a report was refused');
    completed(performance.now() - sentAt);
  }
}

async function heartbeat(connection: Connection, leased: readonly Leased[]): Promise<void> {
  const leases = leased.map(({ job, lease_token: token }) => `{"job_id":"${job.id}","lease_token":"${token}"}`);
  const body = `{"extend_secs":300,"leases":[${leases.join(',')}]}`;
  expectStatus(await connection.request(post('/api/v1/heartbeats', WORKER_TOKEN, body)), 200);
}

export async function lease(connection: Connection): Promise<Leased[]> {
  const reply = await connection.request(LEASE);
  expectStatus(reply, 200);
  return (JSON.parse(reply.body.toString('utf8')) as { jobs: Leased[] }).jobs;
}

/** Takes jobs from the end of a list that other connections take from too. */
export async function complete(
  connection: Connection,
  leased: Leased[],
  completed: (ms: number, id: string, sentAt: number) => void,
): Promise<void> {
  for (let next = leased.pop(); next; next = leased.pop()) {
    const sentAt = performance.now();
    expectStatus(await connection.request(completion(next)), 204);
    completed(performance.now() - sentAt, next.job.id, sentAt);
  }
}

function completion({ job, lease_token: token }: Leased): Buffer {
  const body = `{"lease_token":"${token}","result":${RESULT_TEXT}}`;
  return post(`/api/v1/jobs/${job.id}/complete`, WORKER_TOKEN, body);
}
