import type { ChaosClient, Reply } from '../history/client.js';
import type { Stage } from '../stage/stage.js';

/** How a wait of a job ended, by job: what each attempt found must be the same. */
export type Endings = Map<string, string>;

export interface WaitingWorker {
  readonly stage: Stage;
  readonly queue: string;
  readonly leaseSecs: number;
  /** How often it forgets a job that it holds, as if it had died. */
  readonly forgets: number;
  readonly going: () => boolean;
  readonly stopped: () => boolean;
  readonly endings: Endings;
}

interface Held {
  readonly id: string;
  readonly token: string;
  readonly startedAt: number;
  readonly kind: string;
  readonly key: string;
}

interface Known {
  readonly checkpoints: readonly { readonly name: string; readonly value: unknown }[];
  readonly waits: readonly { readonly name: string; readonly until: string }[];
}

const WAIT = 'wait';
const TIMED_OUT = { timed_out: true };

/**
 * A worker of the bare protocol, because that of the SDK sleeps in place for less than half a minute. A job of the kind
 * `sleep` sleeps for a second or two; a `signal` waits as long for one; others complete at once.
 */
export async function workOnWaits(worker: WaitingWorker, client: ChaosClient): Promise<void> {
  const { queue, leaseSecs, stopped } = worker;
  while (!stopped()) {
    const body = { max_jobs: 5, lease_secs: leaseSecs, wait_secs: 1 };
    const path = `/api/v1/queues/${queue}/lease`;
    const reply = await client.send('other', 'POST', path, { body, asWorker: true });
    if (reply.status !== 200) await worker.stage.sleep(100);
    await Promise.all(heldBy(reply).map((held) => handle(worker, client, held)));
  }
}

function heldBy({ status, body }: Reply): readonly Held[] {
  if (status !== 200) return [];
  const jobs = body.jobs as readonly { job: Record<string, unknown>; lease_token: string }[];
  return jobs.map(({ job, lease_token: token }) => {
    const { kind = '', key = '' } = job.payload as { kind?: string; key?: string };
    return { id: String(job.id), token, startedAt: Date.parse(String(job.started_at)), kind, key };
  });
}

/** Each line of it may be the last: the worker dies, or there is no answer, and the lease expires. */
async function handle(worker: WaitingWorker, client: ChaosClient, held: Held): Promise<void> {
  const { stage } = worker;
  const dies = (): boolean => worker.going() && stage.random.chance(worker.forgets);
  if (dies()) return;
  if (held.kind !== '') {
    const ended = await waitEnded(worker, client, held);
    if (ended === null || dies()) return;
    const before = worker.endings.get(held.id);
    if (before !== undefined && before !== ended)
      stage.violation(`the wait of job ${held.id} ended twice: with ${before}, and with ${ended}`);
    worker.endings.set(held.id, ended);
  }
  await report(client, held, 'complete', { result: {} });
}

/** How the wait ended; null if it goes on, or if nobody knows. */
async function waitEnded({ stage }: WaitingWorker, client: ChaosClient, held: Held): Promise<string | null> {
  const headers = { 'lease-token': held.token };
  const path = `/api/v1/jobs/${held.id}/checkpoints`;
  const read = await client.send('other', 'GET', path, { asWorker: true, headers });
  if (read.status !== 200) return null;
  const { checkpoints, waits } = read.body as unknown as Known;
  const stored = checkpoints.find(({ name }) => name === WAIT);
  if (stored !== undefined) return JSON.stringify(stored.value);
  const wait = waits.find(({ name }) => name === WAIT);
  if (wait === undefined) {
    const signal = held.kind === 'signal' ? { wait: { signal: { name: 'go', key: held.key } } } : {};
    const delay = { delay_secs: stage.random.integer(1, 2) };
    await report(client, held, 'suspend', { checkpoint: WAIT, ...delay, ...signal });
    return null;
  }
  const early = Date.parse(wait.until) - held.startedAt;
  if (early > 0) stage.violation(`job ${held.id} (${held.kind}) was woken ${early} ms before its time, for nothing`);
  const value = held.kind === 'signal' ? TIMED_OUT : null;
  const { status, body } = await report(client, held, 'checkpoints', { name: WAIT, value });
  return status === 200 || status === 201 ? JSON.stringify(body.value) : null;
}

const report = (client: ChaosClient, { id, token }: Held, what: string, body: object): Promise<Reply> =>
  client.send('other', 'POST', `/api/v1/jobs/${id}/${what}`, { body: { lease_token: token, ...body }, asWorker: true });
