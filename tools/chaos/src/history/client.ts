import { monotonicMs } from '@millrace/tools-shared';
import type { Answer, Call, Claim } from './calls.js';
import type { Journal } from './history.js';

export interface Reply {
  /** Null if there was no answer. */
  readonly status: number | null;
  readonly body: Readonly<Record<string, unknown>>;
  /** Header names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly ms: number;
}

export interface LeasedJob {
  readonly id: string;
  readonly token: string;
  readonly job: Readonly<Record<string, unknown>>;
}

export interface ClientOptions {
  /** Part of the ids of its calls; unique within a row. */
  readonly name: string;
  /** Called before each request: processes come and go. */
  readonly url: () => string;
  readonly tenantKey: string;
  readonly workerToken: string;
  readonly journal: Journal;
  readonly timeoutMs?: number;
}

type Facts = Partial<Pick<Call, 'job' | 'token' | 'queue' | 'secs' | 'retryable'>>;
type Body = Readonly<Record<string, unknown>>;

/**
 * Calls the service and records every call and every answer. It never throws: a call without an answer has the status
 * null.
 */
export class ChaosClient {
  #calls = 0;

  constructor(private readonly options: ClientOptions) {}

  create(task: string, body: Body = {}, key?: string): Promise<Reply> {
    const headers = key === undefined ? {} : { 'idempotency-key': key };
    return this.send('create', 'POST', '/api/v1/jobs', { body: { task_name: task, ...body }, headers });
  }

  batch(jobs: readonly Body[]): Promise<Reply> {
    return this.send('batch', 'POST', '/api/v1/jobs/batch', { body: { jobs } });
  }

  async lease(
    queue: string,
    options: { max?: number; secs?: number; wait?: number } = {},
  ): Promise<readonly LeasedJob[]> {
    const { max = 1, secs = 30, wait = 0 } = options;
    const body = { max_jobs: max, lease_secs: secs, wait_secs: wait };
    const path = `/api/v1/queues/${encodeURIComponent(queue)}/lease`;
    const reply = await this.send('lease', 'POST', path, { body, asWorker: true, facts: { queue, secs } });
    return leasedJobs(reply.body);
  }

  heartbeat(job: string, token: string, secs = 30): Promise<Reply> {
    const body = { lease_token: token, extend_secs: secs };
    return this.#report('heartbeat', job, body, { token, secs });
  }

  /** The result names the token, so that the final record shows whose completion took effect. */
  complete(job: string, token: string, result: Body = {}): Promise<Reply> {
    return this.#report('complete', job, { lease_token: token, result: { by: token, ...result } }, { token });
  }

  fail(job: string, token: string, retryable = true): Promise<Reply> {
    return this.#report('fail', job, { lease_token: token, error: 'asked to fail', retryable }, { token, retryable });
  }

  cancel(job: string): Promise<Reply> {
    return this.send('cancel', 'POST', `/api/v1/jobs/${job}/cancel`, { facts: { job } });
  }

  get(job: string): Promise<Reply> {
    return this.send('get', 'GET', `/api/v1/jobs/${job}`, { facts: { job } });
  }

  #report(op: 'heartbeat' | 'complete' | 'fail', job: string, body: Body, facts: Facts): Promise<Reply> {
    return this.send(op, 'POST', `/api/v1/jobs/${job}/${op}`, { body, asWorker: true, facts: { job, ...facts } });
  }

  /** Any other call; `op` decides how the replay interprets it. */
  async send(
    op: Call['op'],
    method: string,
    path: string,
    more: { body?: unknown; asWorker?: boolean; headers?: Record<string, string>; facts?: Facts } = {},
  ): Promise<Reply> {
    const { options } = this;
    const call: Call = {
      id: `${options.name}:${++this.#calls}`,
      op,
      method,
      path,
      ...more.facts,
      startedAt: monotonicMs(),
    };
    options.journal.call(call);
    const reply = await this.#fetch(method, path, more);
    options.journal.answer(answerTo(call, reply));
    return reply;
  }

  async #fetch(
    method: string,
    path: string,
    { body, asWorker = false, headers }: { body?: unknown; asWorker?: boolean; headers?: Record<string, string> },
  ): Promise<Reply & { lost?: string }> {
    const { url, tenantKey, workerToken, timeoutMs = 60_000 } = this.options;
    const startedAt = monotonicMs();
    try {
      const response = await fetch(new URL(path, url()), {
        method,
        headers: {
          authorization: `Bearer ${asWorker ? workerToken : tenantKey}`,
          ...(body !== undefined && { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
        signal: AbortSignal.timeout(timeoutMs),
      });
      const text = await response.text();
      const isJson = response.headers.get('content-type')?.includes('json') ?? false;
      return {
        status: response.status,
        body: isJson && text !== '' ? (JSON.parse(text) as Body) : {},
        headers: Object.fromEntries(response.headers),
        ms: monotonicMs() - startedAt,
      };
    } catch (error) {
      return { status: null, body: {}, headers: {}, ms: monotonicMs() - startedAt, lost: describe(error) };
    }
  }
}

function answerTo(call: Call, reply: Reply & { lost?: string }): Answer {
  const { status, body } = reply;
  const isOk = status !== null && status < 300;
  return {
    id: call.id,
    status,
    endedAt: monotonicMs(),
    ...(reply.lost !== undefined && { lost: reply.lost }),
    ...(isOk && call.op === 'create' && { created: [String(body.job_id)] }),
    ...(isOk && call.op === 'batch' && { created: body.job_ids as string[] }),
    ...(isOk && call.op === 'lease' && { claims: leasedJobs(body).map(toClaim) }),
    ...(isOk && call.op === 'heartbeat' && { seen: { status: String(body.status) } }),
    ...(isOk &&
      call.op === 'get' && {
        seen: {
          status: String(body.status),
          retries: Number(body.retry_count),
          deliveries: Number(body.delivery_count),
        },
      }),
  };
}

function leasedJobs(body: Body): readonly LeasedJob[] {
  const jobs = (body.jobs ?? []) as readonly { job: Body & { id: string }; lease_token: string }[];
  return jobs.map(({ job, lease_token }) => ({ id: job.id, token: lease_token, job }));
}

const toClaim = ({ id, token, job }: LeasedJob): Claim => ({
  job: id,
  token,
  retries: Number(job.retry_count),
  deliveries: Number(job.delivery_count),
});

function describe(error: unknown): string {
  const { message, cause } = error as Error & { cause?: { code?: string; message?: string } };
  return cause?.code ?? cause?.message ?? message;
}
