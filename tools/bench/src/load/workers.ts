import { latencyOf, type Latency } from '../latency.js';
import { QUEUE, RESULT_TEXT, WORKER_TOKEN } from '../work.js';
import { Connection, expectStatus, post } from './connection.js';

/** Remote workers: each leases a hundred jobs at a time and reports every one of them with a separate request. */
export interface RemoteWork {
  readonly port: number;
  readonly workers: number;
  /** How many jobs a worker runs at once, each on a separate connection. */
  readonly connectionsEach: number;
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

export async function workRemotely({ port, workers, connectionsEach, jobs }: RemoteWork): Promise<WorkDone> {
  const ms: number[] = [];
  let warmAt = NaN;
  const completed = (took: number): void => {
    if (ms.push(took) === Math.floor(jobs * WARM_SHARE)) warmAt = performance.now();
  };
  await Promise.all(Array.from({ length: workers }, () => runWorker(port, connectionsEach, completed)));
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
