import { setTimeout as sleep } from 'node:timers/promises';
import { createLogger, parseConfig, startServer, type Handler } from '@millrace/server';
import { monotonicMicros, readMetrics } from '@millrace/tools-shared';
import { serveCalls } from '../env/child.js';
import { untilQueueIsEmpty } from '../env/postgres.js';
import { latencyOf, type Latency } from '../latency.js';
import { Progress, type DrainReport } from '../progress.js';
import { QUEUE, RESULT, TASK, TENANT, TENANT_KEY, WORKER_TOKEN } from '../work.js';

/**
 * The service embedded in a program, with that program's handlers in the same process. Everything else is as on the
 * command line: credentials, log, the default number of workers.
 */
type Running = Awaited<ReturnType<typeof startServer>>;

interface Stats {
  readonly jobs_completed: number;
  readonly workflows_completed: number;
}

interface Completed {
  readonly jobs?: number;
  readonly workflows?: number;
  readonly everyMs?: number;
}

const FINE_POLL_MS = 2;
const COARSE_POLL_MS = 20;

let running: Running | null = null;
let progress: Progress | null = null;
let delaysMs: number[] = [];

const noop: Handler = () => {
  progress?.tick();
  return RESULT;
};

const stamp: Handler = (payload) => {
  delaysMs.push((monotonicMicros() - Number(payload.at)) / 1000);
  return RESULT;
};

const methods = {
  /** Starts the service and resolves to its port. Jobs that wait in the database begin to run at once. */
  start: async ({ url, flags = [] }: { url: string; flags?: readonly string[] }): Promise<number> => {
    const usual = ['--api-port=0', '--metrics-port=0', '--host=127.0.0.1', '--log-level=warn', '--log-format=json'];
    const credentials = { MILLRACE_API_KEYS: `${TENANT_KEY}:${TENANT}`, MILLRACE_WORKER_TOKEN: WORKER_TOKEN };
    const config = parseConfig([...usual, ...flags], { ...credentials, DATABASE_URL: url }, { isTTY: false });
    const logger = createLogger({ level: config.logLevel, format: config.logFormat });
    running = await startServer(config, { logger, handlers: { [TASK]: noop, stamp } });
    return Number(new URL(running.apiUrl ?? '').port);
  },

  /**
   * Starts the service on a database with this many waiting jobs; resolves once all their completions are committed.
   */
  drain: async ({ url, jobs }: { url: string; jobs: number }): Promise<DrainReport> => {
    progress = new Progress(jobs);
    await methods.start({ url });
    await progress.handled;
    await untilStats(({ jobs_completed: n }) => n >= jobs, FINE_POLL_MS);
    return progress.report();
  },

  /**
   * The same where they are not all of one tenant, whose counters would say when they are done. There may be several
   * databases, with spaces between their URLs.
   */
  drainOfAnyTenants: async ({ url, jobs }: { url: string; jobs: number }): Promise<DrainReport> => {
    progress = new Progress(jobs);
    await methods.start({ url });
    await progress.handled;
    for (const each of url.split(' ')) await untilQueueIsEmpty(each, QUEUE);
    return progress.report();
  },

  /** A value from the metrics page. */
  metric: async (name: string): Promise<number> => (await readMetrics(running?.metricsUrl ?? ''))(name),

  /**
   * Waits until this many jobs and workflows have completed since the start; resolves to the time on the shared clock.
   */
  completed: async ({ jobs = 0, workflows = 0, everyMs = COARSE_POLL_MS }: Completed): Promise<number> => {
    await untilStats((s) => s.jobs_completed >= jobs && s.workflows_completed >= workflows, everyMs);
    return monotonicMicros();
  },

  /** The delays from request to start of the handler, for all jobs since the last call. */
  delays: (): Latency & { readonly count: number } => {
    const taken = delaysMs;
    delaysMs = [];
    return { count: taken.length, ...latencyOf(taken) };
  },
};

export type EmbeddingMethods = typeof methods;

async function untilStats(enough: (stats: Stats) => boolean, everyMs: number): Promise<void> {
  const url = `${running?.apiUrl ?? ''}/api/v1/stats`;
  for (;;) {
    const answer = await fetch(url, { headers: { authorization: `Bearer ${TENANT_KEY}` } });
    if (enough((await answer.json()) as Stats)) return;
    await sleep(everyMs);
  }
}

serveCalls(methods, async () => running?.stop());
