import { QUEUE, RESULT, WORKER_TOKEN } from '../work.js';

/** The loop that one would write by hand against the gathered routes: fetch, JSON, a timer for heartbeats. */
export interface FetchWork {
  readonly port: number;
  readonly workers: number;
  readonly jobs: number;
}

interface Leased {
  readonly job: { readonly id: string; readonly payload: object };
  readonly lease_token: string;
}

const WARM_SHARE = 0.2;
const HEARTBEAT_MS = 1_000;

/** Resolves to completions per second, without the first fifth. */
export async function workWithFetch({ port, workers, jobs }: FetchWork): Promise<number> {
  const warm = Math.floor(jobs * WARM_SHARE);
  let [done, warmAt] = [0, NaN];
  const completed = (count: number): void => {
    if (done < warm && done + count >= warm) warmAt = performance.now();
    done += count;
  };
  await Promise.all(Array.from({ length: workers }, () => runWorker(`http://127.0.0.1:${port}/api/v1`, completed)));
  if (done !== jobs) throw new Error(`${done} of ${jobs} jobs were completed`);
  return ((jobs - warm) / (performance.now() - warmAt)) * 1_000;
}

async function runWorker(base: string, completed: (count: number) => void): Promise<void> {
  let held: readonly Leased[] = [];
  const beats = setInterval(() => {
    const leases = held.map(({ job, lease_token }) => ({ job_id: job.id, lease_token }));
    if (leases.length > 0) void post(`${base}/heartbeats`, { extend_secs: 300, leases });
  }, HEARTBEAT_MS);
  let next = lease(base);
  for (;;) {
    const leased = await next;
    if (leased.length === 0) break;
    held = leased;
    next = lease(base);
    const reports = await Promise.all(
      leased.map(async ({ job, lease_token }) => {
        const result = await handle(job.payload);
        return { job_id: job.id, lease_token, outcome: 'completed', result };
      }),
    );
    const answer = (await post(`${base}/reports`, { reports })) as { reports: { ok?: true }[] };
    if (!answer.reports.every(({ ok }) => ok)) throw new Error('a report was refused');
    completed(answer.reports.length);
  }
  clearInterval(beats);
}

const handle = async (_payload: object): Promise<object> => RESULT;

async function lease(base: string): Promise<Leased[]> {
  const body = { max_jobs: 100, lease_secs: 300, wait_secs: 0 };
  return ((await post(`${base}/queues/${QUEUE}/lease`, body)) as { jobs: Leased[] }).jobs;
}

async function post(url: string, body: object): Promise<unknown> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { authorization: `Bearer ${WORKER_TOKEN}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`${url} answered ${response.status}: ${await response.text()}`);
  return response.json();
}
