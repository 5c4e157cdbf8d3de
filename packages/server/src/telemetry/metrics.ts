import { Counter, Gauge, Registry, type Aggregator } from 'prom-client';
import type { Snapshot } from './fleet-metrics.js';
import { Histogram } from './histogram.js';
import { ProcessMetrics } from './process-metrics.js';
import { TaskCounter } from './task-counter.js';

/** Why a request failed authentication. */
export const AUTH_FAILURES = [
  'missing',
  'invalid',
  'worker_on_tenant_route',
  'tenant_on_worker_route',
  'admin_elsewhere',
  'other_on_admin_route',
  'read_only',
] as const;
export type AuthFailure = (typeof AUTH_FAILURES)[number];

/** What the labels of counters can say. Each has its sample from the start: a rate can be told from the first event. */
const LOADS = ['new', 'waiting', 'vital', 'answer'];
const REASONS = ['max_attempts_exceeded', 'non_retryable', 'handler_not_found'];
const OPERATIONS = ['heartbeat', 'complete', 'fail', 'release', 'checkpoint', 'suspend'];
const UNTAKEN = ['expired', 'job_ended', 'refused'];
const WORKFLOW_ENDS = ['completed', 'failed', 'partially_failed', 'cancelled'];
const FIRINGS = ['on_time', 'catch_up'];

export interface MetricsOptions {
  /** Of the server. */
  readonly version?: string;
  /**
   * Called at every scrape to set the gauges that need a query. They are cleared first, so that a queue that no longer
   * exists disappears; if the callback fails or takes too long, the scrape goes on without them.
   */
  readonly collect?: (metrics: Metrics, options: CollectOptions) => Promise<void>;
  /** Milliseconds the callback may take. */
  readonly collectTimeoutMs?: number;
}

export interface CollectOptions {
  /** Whether to ask the database too: of several processes behind one page, one does. */
  readonly withDatabase: boolean;
}

const LATENCY_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
const AGE_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1, 5, 15, 60, 300, 900, 3600, 21_600, 86_400];

/**
 * Every metric of the product. No label ever names a tenant: there may be any number of them, and the metrics page
 * requires no credentials. Each server has its own registry, so that several can run in one process.
 */
export class Metrics {
  readonly registry = new Registry();
  readonly #process = new ProcessMetrics(this.registry);
  readonly #options: MetricsOptions;
  #collecting: Promise<void> | null = null;
  #unread: () => number = () => 0;
  #bodies: () => number = () => 0;
  #inFlight: () => Readonly<Record<string, number>> = () => ({});

  readonly http = this.#histogram('http_request_duration_seconds', 'Time to answer a request.', LATENCY_BUCKETS, [
    'method',
    'route',
    'status',
  ]);
  readonly requestsShed = this.#counter('requests_shed_total', 'Requests refused because of overload, by load.', {
    load: LOADS,
  });
  readonly connectionsDropped = this.#counter(
    'connections_dropped_total',
    'Connections closed because there were too many.',
  );
  readonly requestsInFlight = this.#gauge('requests_in_flight', 'Units of load held by requests in flight, by load.', [
    'load',
  ]);
  readonly answersCut = this.#counter('answers_cut_total', 'Answers cut off because their client did not read them.');
  readonly requestBodyBytes = this.#gauge('request_body_bytes', 'Bytes of request bodies that are held in memory.');
  readonly unreadAnswerBytes = this.#gauge('unread_answer_bytes', 'Bytes of large answers that are not read yet.');
  readonly authFailures = this.#counter('auth_failures_total', 'Requests that failed authentication, by kind.', {
    kind: AUTH_FAILURES,
  });

  readonly jobsCreated = this.#counter('jobs_created_total', 'Jobs created.');
  readonly jobsClaimed = this.#counter('jobs_claimed_total', 'Claims of a job by a worker.');
  readonly jobsCompleted = this.#counter('jobs_completed_total', 'Jobs that completed.');
  readonly jobsRetried = this.#counter('jobs_retried_total', 'Failed attempts followed by a retry.');
  readonly jobsFailed = this.#counter('jobs_failed_total', 'Jobs that failed for good, by reason.', {
    reason: REASONS,
  });
  readonly jobsCancelled = this.#counter('jobs_cancelled_total', 'Jobs that were cancelled.');
  readonly limitsAdmitted = this.#counter(
    'limits_admitted_total',
    'Jobs that had waited for room at a limit and were let into their queue.',
  );
  readonly signalsUntaken = this.#counter(
    'signals_untaken_total',
    'Signals that no job took: their time was over, their job had ended, or there was no room for more.',
    { how: UNTAKEN },
  );
  readonly leasesExpired = this.#counter('leases_expired_total', 'Expired leases that were reclaimed.');
  readonly staleTokens = this.#counter('stale_tokens_total', 'Calls refused for a lease no longer held.', {
    operation: OPERATIONS,
  });
  readonly taskJobs = new TaskCounter(
    'millrace_task_jobs_total',
    'What happened to jobs, by queue, task and event.',
    this.registry,
  );

  readonly workflows = this.#counter('workflows_total', 'Workflows that ended, by outcome.', {
    outcome: WORKFLOW_ENDS,
  });

  readonly cronFirings = this.#counter('cron_firings_total', 'Firings of cron schedules, by kind.', {
    kind: FIRINGS,
  });
  readonly cronLag = this.#histogram('cron_lag_seconds', 'Time from an occurrence to its firing.', AGE_BUCKETS);

  readonly jobWait = this.#histogram('job_wait_seconds', 'Time from claimable to claimed.', AGE_BUCKETS);
  readonly jobRun = this.#histogram('job_run_seconds', 'Time from claimed to reported, by outcome.', AGE_BUCKETS, [
    'outcome',
  ]);
  readonly claim = this.#histogram('claim_seconds', 'Duration of one claim statement.', LATENCY_BUCKETS);
  readonly sweep = this.#histogram('sweep_seconds', 'Duration of one sweep for expired leases.', LATENCY_BUCKETS);

  readonly retentionLag = this.#gauge(
    'retention_lag_seconds',
    'How late the last pass of retention in this process removed what it was latest with.',
    [],
    'max',
  );

  readonly oldestPastRetention = this.#gauge(
    'oldest_past_retention_seconds',
    'How far the oldest finished job is past its retention.',
    [],
    'max',
  );
  readonly buildInfo = this.#gauge('build_info', 'Always 1; the labels say what runs.', ['version', 'node'], 'first');

  readonly queueDepth = this.#gauge('queue_depth', 'Unfinished jobs, by queue and status.', ['queue', 'status'], 'max');
  readonly oldestReadyAge = this.#gauge(
    'oldest_ready_age_seconds',
    'Age of the oldest claimable job.',
    ['queue'],
    'max',
  );
  readonly limitsWaiting = this.#gauge(
    'limits_waiting',
    'Jobs that wait for room at a limit, counted up to 20,000.',
    [],
    'max',
  );
  readonly limitsOldestAge = this.#gauge(
    'limits_oldest_age_seconds',
    'Since when the oldest of those that wait for room is due.',
    [],
    'max',
  );
  readonly jobsSuspended = this.#gauge(
    'jobs_suspended',
    'Durable jobs that sleep, or wait for a signal or for children, as far as 20,000 of them show.',
    ['for'],
    'max',
  );
  readonly signalsStored = this.#gauge(
    'signals_stored',
    'Signals that no job has taken yet, counted up to 100,000.',
    [],
    'max',
  );
  readonly deadLetters = this.#gauge('dead_letters', 'Dead letters that have not been replayed.', [], 'max');
  readonly dbConnections = this.#gauge('db_connections', 'Database connections, by state.', ['state']);
  readonly cellUp = this.#gauge('cell_up', 'Whether the database of the cell can be reached: 1 or 0.', ['cell'], 'min');
  readonly poolWorkers = this.#gauge('pool_workers', 'In-process workers, busy and idle.', ['state']);
  readonly longPolls = this.#gauge('long_polls', 'Lease calls waiting for work.');
  readonly jobWaits = this.#gauge('job_waits', 'Calls waiting for jobs to end.');
  readonly eventStreams = this.#gauge('event_streams', 'Open event streams.');
  readonly spansDropped = this.#counter('spans_dropped_total', 'Spans that the collector did not take.');
  readonly collectFailures = this.#counter('collect_failures_total', 'Scrapes that could not query the database.');

  constructor(options: MetricsOptions = {}) {
    this.#options = options;
    const { version = 'unknown' } = options;
    this.buildInfo.set({ version, node: process.versions.node }, 1);
  }

  /** What `requests_in_flight` shows. Read at each scrape: setting a gauge twice per request would cost more. */
  watchInFlight(read: () => { readonly new: number; readonly vital: number }): void {
    this.#inFlight = read;
  }

  /** Likewise `unread_answer_bytes`. */
  watchUnread(read: () => number): void {
    this.#unread = read;
  }

  /** Likewise `request_body_bytes`. */
  watchBodies(read: () => number): void {
    this.#bodies = read;
  }

  /** The metrics page. */
  async text(): Promise<string> {
    await this.#refresh({ withDatabase: true });
    return this.registry.metrics();
  }

  /** The same as data, for the page of several processes. */
  async snapshot(options: CollectOptions): Promise<Snapshot> {
    await this.#refresh(options);
    return this.registry.getMetricsAsJSON();
  }

  get contentType(): string {
    return this.registry.contentType;
  }

  /** Stops the observers. The counters stay readable. */
  close(): void {
    this.#process.close();
  }

  get #collected(): Gauge[] {
    const { queueDepth, oldestReadyAge, deadLetters, dbConnections, oldestPastRetention } = this;
    const { limitsWaiting, limitsOldestAge, jobsSuspended, signalsStored } = this;
    return [
      ...[queueDepth, oldestReadyAge, deadLetters, dbConnections, oldestPastRetention],
      ...[limitsWaiting, limitsOldestAge, jobsSuspended, signalsStored],
    ];
  }

  /** Overlapping scrapes share one round of queries. */
  #collect(options: CollectOptions): Promise<void> {
    this.#collecting ??= this.#runCollector(options).finally(() => (this.#collecting = null));
    return this.#collecting;
  }

  #refresh(options: CollectOptions): Promise<void> {
    for (const [load, units] of Object.entries(this.#inFlight())) this.requestsInFlight.set({ load }, units);
    this.unreadAnswerBytes.set(this.#unread());
    this.requestBodyBytes.set(this.#bodies());
    return this.#collect(options);
  }

  async #runCollector(options: CollectOptions): Promise<void> {
    const { collect, collectTimeoutMs = 3000 } = this.#options;
    if (collect === undefined) return;
    for (const gauge of this.#collected) gauge.reset();
    let timer: NodeJS.Timeout | undefined;
    const timeout = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error('collecting metrics took too long')), collectTimeoutMs);
    });
    try {
      await Promise.race([collect(this, options), timeout]);
    } catch {
      this.collectFailures.inc();
    } finally {
      clearTimeout(timer);
    }
  }

  /** With at most one label, and the values it can have. */
  #counter<L extends string = never>(
    name: string,
    help: string,
    labels: Readonly<Record<L, readonly string[]>> = {} as Record<L, readonly string[]>,
  ): Counter<L> {
    const labelNames = Object.keys(labels) as L[];
    const counter = new Counter({ name: `millrace_${name}`, help, labelNames, registers: [this.registry] });
    for (const label of labelNames)
      for (const value of labels[label]) counter.inc({ [label]: value } as Record<L, string>, 0);
    return counter;
  }

  /** The last argument says what several processes make of it: what is true of the whole database is no sum. */
  #gauge<L extends string = never>(
    name: string,
    help: string,
    labelNames: L[] = [],
    aggregator: Aggregator = 'sum',
  ): Gauge<L> {
    return new Gauge({ name: `millrace_${name}`, help, labelNames, aggregator, registers: [this.registry] });
  }

  #histogram<L extends string = never>(name: string, help: string, buckets: number[], labels: L[] = []): Histogram<L> {
    return new Histogram({ name: `millrace_${name}`, help, buckets, labels, registry: this.registry });
  }
}
