import {
  milliseconds,
  Millrace,
  silentLogger,
  task,
  type Duration,
  type Handler,
  type JobContext,
} from '../../src/index.js';
import { stepPayload } from '../../src/workflow/references.js';
import { FakeServer } from '../../src/testing/index.js';
import { instantRun } from '../../src/testing/instant-run.js';
import { testContext } from '../../src/testing/test-context.js';
import type * as Wire from '../../src/wire/index.js';
import { controlClock } from '../../../server/test/support/clock.js';
import { cloneDatabase } from '../../../server/test/support/database.js';
import { KEY_A, startTestServer, WORKER_TOKEN } from '../../../server/test/support/server.js';

export interface Answer {
  readonly status: number;
  readonly body: any;
}

/** A server for the suite that holds the fake one against the real one. */
export interface Stage {
  readonly millrace: Millrace;
  /** A call as the tenant, past the client. */
  call(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>;
  /** A call as a worker. */
  work(path: string, body: unknown): Promise<Answer>;
  advance(by: Duration): Promise<void>;
  stop(): Promise<void>;
}

function caller(url: string, token: string, fetch: typeof globalThis.fetch) {
  return async (
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<Answer> => {
    const response = await fetch(`${url}/api/v1${path}`, {
      method,
      headers: {
        Authorization: `Bearer ${token}`,
        Prefer: 'handling=strict',
        ...(body !== undefined && { 'Content-Type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, body: text === '' ? undefined : JSON.parse(text) };
  };
}

export async function fakeStage(): Promise<Stage> {
  const fake = new FakeServer();
  const { url, token, fetch } = fake.options;
  const call = caller(url, token, fetch);
  return {
    millrace: new Millrace({ ...fake.options, logger: silentLogger }),
    call,
    work: (path, body) => call('POST', path, body),
    advance: (by) => fake.advance(by),
    stop: async () => undefined,
  };
}

export async function realStage(): Promise<Stage> {
  const database = await cloneDatabase();
  const clock = await controlClock(database);
  const server = await startTestServer({ database, intervals: { sweepMs: 100 } });
  const worker = caller(server.url, WORKER_TOKEN, fetch);
  return {
    millrace: new Millrace({ url: server.url, token: KEY_A, logger: silentLogger }),
    call: caller(server.url, KEY_A, fetch),
    work: (path, body) => worker('POST', path, body),
    advance: (by) => clock.advance(milliseconds(by) / 1_000),
    stop: async () => {
      await server.stop();
      await database.drop();
    },
  };
}

export async function lease(stage: Stage, queue: string, options: object = {}): Promise<Wire.LeasedJob[]> {
  const body = { max_jobs: 100, lease_secs: 3_600, wait_secs: 0, ...options };
  const answer = await stage.work(`/queues/${encodeURIComponent(queue)}/lease`, body);
  return answer.body.jobs as Wire.LeasedJob[];
}

/**
 * An expression whose occurrences are an hour apart and half an hour from now: an hour later it has had one of them,
 * whatever the time of day is.
 */
export async function onceAnHour(stage: Stage): Promise<string> {
  const { createdAt } = await (await stage.millrace.enqueue(task({ name: 'clock', queue: 'of the clock' }))).get();
  return `${(createdAt.getUTCMinutes() + 30) % 60} * * * *`;
}

/** Runs everything that is due on a queue, by the plain protocol, until nothing is. Returns the names of what ran. */
export async function workOff(stage: Stage, queue: string, handlers: readonly Handler[]): Promise<string[]> {
  const ran: string[] = [];
  for (;;) {
    const jobs = await lease(stage, queue);
    if (jobs.length === 0) return ran;
    for (const { job, lease_token } of jobs) {
      ran.push(job.workflow_step_id ?? job.task_name);
      const handler = handlers.find((each) => each.task === job.task_name)!;
      const payload = job.workflow_id === null ? job.payload : stepPayload(job.payload);
      const running = { id: job.id, task: job.task_name, queue, attempt: job.delivery_count } as JobContext['job'];
      const context = testContext(
        running,
        { progress: [], logs: [] },
        new AbortController().signal,
        undefined as never,
        instantRun({}, {}, {}, new AbortController().signal),
      );
      try {
        const result = await handler.run(payload, context);
        await stage.work(`/jobs/${job.id}/complete`, { lease_token, result });
      } catch (error) {
        const report = {
          lease_token,
          error: (error as Error).message,
          retryable: (error as Error).name !== 'NonRetryableError',
        };
        await stage.work(`/jobs/${job.id}/fail`, report);
      }
    }
  }
}
