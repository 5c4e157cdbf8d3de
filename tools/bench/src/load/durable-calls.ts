import { ADMIN_TOKEN, QUEUE, TENANT_KEY, WORKER_TOKEN } from '../work.js';
import { Connection, expectStatus, post } from './connection.js';

/** What durable jobs and workflows are asked for here, one call at a time. */
export interface Held {
  readonly id: string;
  readonly token: string;
}

const MOST_PER_CALL = 100;
const LEASE_SECS = 600;
const LEASE = `/api/v1/queues/${QUEUE}/lease`;
const lease = (max: number, waitSecs: number): Buffer =>
  post(LEASE, WORKER_TOKEN, JSON.stringify({ max_jobs: max, lease_secs: LEASE_SECS, wait_secs: waitSecs }));

export class DurableCalls {
  private constructor(private readonly connection: Connection) {}

  static async open(port: number): Promise<DurableCalls> {
    return new DurableCalls(await Connection.open(port));
  }

  close(): void {
    this.connection.close();
  }

  /** Resolves to the milliseconds that it took. */
  async timed(request: Buffer, status: number): Promise<number> {
    const sentAt = performance.now();
    expectStatus(await this.connection.request(request), status);
    return performance.now() - sentAt;
  }

  asTenant<T>(path: string, body: object, status: number): Promise<T> {
    return this.#call(post(path, TENANT_KEY, JSON.stringify(body)), status);
  }

  /** Answered without a body. */
  asOperator(path: string, body: object): Promise<void> {
    return this.#call(post(path, ADMIN_TOKEN, JSON.stringify(body)), 204);
  }

  asWorker<T>(path: string, body: object, status: number): Promise<T> {
    return this.#call(post(path, WORKER_TOKEN, JSON.stringify(body)), status);
  }

  /** Waits for a job. */
  async next(): Promise<Held> {
    const [held] = await this.#lease(1, 20);
    if (held === undefined) throw new Error('no job came within 20 s');
    return held;
  }

  /** As many as the queue has, up to `count`. */
  async take(count: number): Promise<Held[]> {
    const taken: Held[] = [];
    for (;;) {
      const held = taken.length < count ? await this.#lease(Math.min(MOST_PER_CALL, count - taken.length), 0) : [];
      if (held.length === 0) return taken;
      taken.push(...held);
    }
  }

  /** One call per hundred; `of` says how each one ends. */
  async report(jobs: readonly Held[], of: (n: number) => object): Promise<void> {
    for (let from = 0; from < jobs.length; from += MOST_PER_CALL) {
      const part = jobs.slice(from, from + MOST_PER_CALL);
      const reports = part.map(({ id, token }, n) => ({ job_id: id, lease_token: token, ...of(from + n) }));
      const answer = await this.asWorker<{ reports: { ok?: true }[] }>('/api/v1/reports', { reports }, 200);
      if (answer.reports.some(({ ok }) => !ok)) throw new Error(`a report was refused: ${JSON.stringify(answer)}`);
    }
  }

  async #lease(max: number, waitSecs: number): Promise<Held[]> {
    const { jobs } = await this.#call<{ jobs: { job: { id: string }; lease_token: string }[] }>(
      lease(max, waitSecs),
      200,
    );
    return jobs.map(({ job, lease_token: token }) => ({ id: job.id, token }));
  }

  async #call<T>(request: Buffer, status: number): Promise<T> {
    const reply = await this.connection.request(request);
    expectStatus(reply, status);
    return (reply.body.length > 0 ? JSON.parse(reply.body.toString('utf8')) : {}) as T;
  }
}
