import { CELL_COUNTS } from '../cases/cells.js';
import { AXIS_NAMES, growthMetric, MEASURE_NAMES, MEASURES, sizeTitle } from '../cases/growth/axes.js';
import { DEPTHS, FILTERS, RARE, SIZES } from '../cases/history.js';
import { INSIGHT_TITLES } from '../cases/insight.js';
import { LIMITED, SHARING } from '../cases/limits.js';
import type { CaseName } from '../cases/names.js';
import { COUNTS, MODELLED_CORES } from '../cases/processes.js';
import { CONNECTIONS } from '../cases/single.js';
import type { Scale } from '../scale.js';

/** Everything that is measured, in the order in which it is shown. */
export interface Metric {
  readonly name: string;
  readonly title: string;
  readonly unit: string;
}

export interface Group {
  readonly of: CaseName;
  readonly title: string;
  readonly metrics: readonly Metric[];
}

const metric = (name: string, title: string, unit: string): Metric => ({ name, title, unit });

export const DRAINED = {
  raw: 'limit: claim, settle; no client work',
  millrace: 'Millrace, results kept',
  'graphile-tuned': 'graphile-worker, tuned',
  'graphile-plain': 'graphile-worker, plain',
  'pg-boss': 'pg-boss, 100 per fetch',
  'pg-boss-large': 'pg-boss, 1000 per fetch, completed at once',
  river: 'River, in Go',
  bullmq: 'BullMQ, Redis with fsync',
} as const;

export const ENQUEUED = {
  raw: 'limit: insert; no client work',
  millrace: 'Millrace, over HTTP',
  graphile: 'graphile-worker, addJobs',
  'pg-boss': 'pg-boss, insert',
  river: 'River, InsertManyFast',
  bullmq: 'BullMQ, addBulk',
} as const;

const entries = <K extends string>(table: Readonly<Record<K, string>>): readonly [K, string][] =>
  Object.entries(table) as [K, string][];

const count = (n: number): string => n.toLocaleString('en-GB');

export const groups = (scale: Scale): readonly Group[] => [
  ...throughputGroups(),
  ...httpGroups(scale),
  ...costGroups(scale),
  ...agingGroups(scale),
  ...growthGroups(scale),
];

function throughputGroups(): Group[] {
  return [
    {
      of: 'throughput',
      title: 'Batch enqueue, a thousand per call',
      metrics: entries(ENQUEUED).map(([key, title]) => metric(`enqueue.${key}`, title, 'jobs/s')),
    },
    {
      of: 'throughput',
      title: 'Drain in process, a handler that does nothing',
      metrics: entries(DRAINED).map(([key, title]) => metric(`drain.${key}`, title, 'jobs/s')),
    },
    {
      of: 'throughput',
      title: 'Processor time per job while draining',
      metrics: entries(DRAINED).flatMap(([key, title]) => [
        metric(`drain-node-cpu.${key}`, `${title}: its process`, 'µs'),
        metric(`drain-postgres-cpu.${key}`, `${title}: PostgreSQL`, 'µs'),
      ]),
    },
  ];
}

function httpGroups({ streams }: Scale): Group[] {
  return [
    { of: 'single', title: 'Single enqueue over HTTP', metrics: singleMetrics() },
    { of: 'processes', title: 'Single enqueue over HTTP, 64 connections, by processes', metrics: processMetrics() },
    {
      of: 'remote',
      title: 'Remote workers over HTTP: lease 100, complete one by one, 4 workers of 16 connections',
      metrics: [
        metric('remote.millrace', 'jobs completed', 'jobs/s'),
        metric('remote-p50.millrace', 'a completion, p50', 'ms'),
        metric('remote-p99.millrace', 'a completion, p99', 'ms'),
        metric('remote.empty', 'requests to an empty route, 64 connections', '/s'),
      ],
    },
    {
      of: 'remote',
      title: 'Remote workers over HTTP: lease 100, report them with one call, 8 workers',
      metrics: [
        metric('remote-batched.millrace', 'jobs completed', 'jobs/s'),
        metric('remote-batched-p50.millrace', 'a call for a hundred, p50', 'ms'),
        metric('remote-batched-p99.millrace', 'a call for a hundred, p99', 'ms'),
        metric('remote-fetch.millrace', 'the same loop with fetch and JSON, as written by hand', 'jobs/s'),
        metric('remote-sdk.millrace', "the SDK's worker: 8 workers of 200 slots", 'jobs/s'),
        metric('remote-batched.raw', 'limit: lease 100, settle 100; no client work', 'jobs/s'),
      ],
    },
    {
      of: 'latency',
      title: 'From POST to the start of the handler',
      metrics: [
        metric('latency-p50.idle', 'idle, p50', 'ms'),
        metric('latency-p99.idle', 'idle, p99', 'ms'),
        metric('latency.capacity', 'the most single jobs that one process accepts and runs', 'jobs/s'),
        metric('latency-p50.half', 'at half of that, p50', 'ms'),
        metric('latency-p99.half', 'at half of that, p99', 'ms'),
      ],
    },
    {
      of: 'workflows',
      title: 'Workflows of three steps, created singly and run in the same process',
      metrics: [
        metric('workflows.plain', 'plain jobs', 'jobs/s'),
        metric('workflows.three-steps', 'workflows of three steps', 'workflows/s'),
      ],
    },
    {
      of: 'durable',
      title: 'Durable jobs, and workflows that go on',
      metrics: [
        metric('durable-call.heartbeat', 'a heartbeat that carries progress, p50', 'ms'),
        metric('durable-call.checkpoint', 'a checkpoint, p50', 'ms'),
        metric('durable-wake-p50.signal', 'from a signal to the lease of the job that waited, p50', 'ms'),
        metric('durable-wake-p99.signal', 'from a signal to the lease of the job that waited, p99', 'ms'),
        metric(
          'durable-wake.children',
          'from the end of the last of a thousand children to the lease of the parent',
          'ms',
        ),
        metric('durable-steps.start', 'starting a workflow of a thousand steps', 'ms'),
        metric('durable-steps.resume', 'resuming it from the first', 'ms'),
      ],
    },
    { of: 'limits', title: 'Limits by key, and tenants that take turns', metrics: limitMetrics() },
    { of: 'cells', title: 'Tenants spread over several databases of one PostgreSQL', metrics: cellMetrics() },
    {
      of: 'outbox',
      title: "The outbox in the application's database",
      metrics: [
        metric('outbox.direct', 'direct batches', '/s'),
        metric('outbox.relayed', 'entries through one relay', '/s'),
        metric('outbox-insert.plain', 'a transaction with a plain insert, p50', 'ms'),
        metric('outbox-insert.enqueue', 'a transaction with an enqueue, p50', 'ms'),
        metric('outbox-p50.handler', 'from the enqueue to the start of the handler, p50', 'ms'),
        metric('outbox-p99.handler', 'from the enqueue to the start of the handler, p99', 'ms'),
      ],
    },
    {
      of: 'events',
      title: `Event streams, ${streams} at once`,
      metrics: [
        metric('events.opened', 'all opened within', 'ms'),
        metric('events.rate', 'transitions delivered', '/s'),
        metric('events-p50.delivery', 'from the completion sent to its event, p50', 'ms'),
        metric('events-p99.delivery', 'from the completion sent to its event, p99', 'ms'),
      ],
    },
  ];
}

function limitMetrics(): Metric[] {
  const shared = SHARING.flatMap((n) => [
    metric(`shares.without.${n}`, `drain, tenants: ${count(n)}, without turns`, 'jobs/s'),
    metric(`shares.with.${n}`, `drain, tenants: ${count(n)}, in turn`, 'jobs/s'),
    metric(`shares-cpu.without.${n}`, `processor, tenants: ${count(n)}, without turns`, 'µs'),
    metric(`shares-cpu.with.${n}`, `processor, tenants: ${count(n)}, in turn`, 'µs'),
  ]);
  return [
    ...shared,
    metric('newcomer.without', "a newcomer's twenty jobs behind many of another tenant, without turns", 'ms'),
    metric('newcomer.with', "a newcomer's twenty jobs beside many of another tenant, in turn", 'ms'),
    ...entries(LIMITED).flatMap(([key, title]) => [
      metric(`limited.${key}`, `created and run, ${title}`, 'jobs/s'),
      metric(`limited-cpu.${key}`, `processor, ${title}`, 'µs'),
    ]),
    ...entries(LIMITED).flatMap(([key, title]) => [
      metric(`limited-backlog.${key}`, `created first, then run, ${title}`, 'jobs/s'),
      metric(`limited-backlog-cpu.${key}`, `created first, then run: processor, ${title}`, 'µs'),
    ]),
    metric('limited.one-key', 'created and run, one key with running: 1', 'jobs/s'),
    metric('limits-idle.cpu', 'nothing to do beside many keys: processor', '% of a core'),
    metric('limits-idle.statements', 'nothing to do beside many keys: statements', '/s'),
  ];
}

const cellMetrics = (): Metric[] =>
  CELL_COUNTS.flatMap((n) => {
    const title = n === 1 ? 'one database' : `${n} databases`;
    return [
      metric(`cells.${n}`, `drain, ${title}`, 'jobs/s'),
      metric(`cells-cpu.${n}`, `processor per drained job, ${title}`, 'µs'),
      metric(`cells-lease-p50.${n}`, `a lease of one job, ${title}, p50`, 'ms'),
      metric(`cells-lease-p99.${n}`, `a lease of one job, ${title}, p99`, 'ms'),
      metric(`cells-idle.${n}`, `nothing to do: statements, ${title} together`, '/s'),
    ];
  });

function costGroups({ waiting }: Scale): Group[] {
  return [
    {
      of: 'wal',
      title: 'Write-ahead log over the life of a job',
      metrics: [
        metric('wal.batch', 'created in batches, without full-page images', 'bytes'),
        metric('wal-images.batch', 'created in batches, full-page images', 'bytes'),
        metric('wal.single', 'created singly, without full-page images', 'bytes'),
        metric('wal-images.single', 'created singly, full-page images', 'bytes'),
      ],
    },
    {
      of: 'durable',
      title: `A server with nothing to do, beside ${count(waiting)} jobs that sleep or wait`,
      metrics: entries({ without: 'without them', beside: 'beside them' }).flatMap(([key, title]) => [
        metric(`durable-idle-cpu.${key}`, `processor, ${title}`, '% of a core'),
        metric(`durable-idle-statements.${key}`, `statements, ${title}`, '/s'),
        metric(`durable-idle-wal.${key}`, `write-ahead log, ${title}`, 'bytes/s'),
      ]),
    },
    {
      of: 'idle',
      title: 'A server with nothing to do',
      metrics: [
        metric('idle.cpu', 'processor', '% of a core'),
        metric('idle.statements', 'statements', '/s'),
        metric('idle.memory', 'resident memory', 'MiB'),
      ],
    },
  ];
}

/** What changes as a database gets older and fuller. */
function agingGroups({ jobs }: Scale): Group[] {
  return [
    {
      of: 'snapshot',
      title: `Drain of ${count(jobs.snapshot)} jobs while another session holds a snapshot`,
      metrics: [
        metric('snapshot.clean', 'no other session', 'jobs/s'),
        metric('snapshot.held', 'snapshot held', 'jobs/s'),
        metric('snapshot-flatness.clean', 'last quarter / first quarter, no other session', '×'),
        metric('snapshot-flatness.held', 'last quarter / first quarter, snapshot held', '×'),
      ],
    },
    {
      of: 'history',
      title: `Drain with ${count(jobs.historyMany)} finished jobs`,
      metrics: [
        metric('history.empty', 'no history', 'jobs/s'),
        metric('history.many', `${count(jobs.historyMany)} finished jobs`, 'jobs/s'),
      ],
    },
    { of: 'history', title: 'A page of 50, by cursor', metrics: pageMetrics(jobs) },
    {
      of: 'insight',
      title: `Reads of a tenant with ${count(jobs.historyMany)} jobs`,
      metrics: entries(INSIGHT_TITLES).map(([name, title]) => metric(`insight.${name}`, title, 'ms')),
    },
  ];
}

function growthGroups(scale: Scale): Group[] {
  const { drained, leases, expired } = scale.growth;
  const amounts = {
    drain: `, ${count(drained)} jobs`,
    create: ', one connection',
    page: '',
    sweep: ` that reclaims ${count(leases)} jobs`,
    retention: `, ${count(expired)} rows to remove`,
  };
  return MEASURE_NAMES.map((measure) => ({
    of: 'growth',
    title: `${MEASURES[measure].title}${amounts[measure]}`.replace(/^./, (letter) => letter.toUpperCase()),
    metrics: AXIS_NAMES.flatMap((axis) =>
      scale.growth.steps.map((step) =>
        metric(growthMetric(axis, measure, step), sizeTitle(scale.growth, axis, step), MEASURES[measure].unit),
      ),
    ),
  }));
}

function singleMetrics(): Metric[] {
  const targets = { millrace: 'Millrace, durable', route: 'the same route, no database' };
  const measured = CONNECTIONS.flatMap((n) =>
    entries(targets).flatMap(([key, title]) => {
      const at = `${title}, ${n} connection${n === 1 ? '' : 's'}`;
      return [
        metric(`single.${key}.${n}`, at, '/s'),
        metric(`single-p50.${key}.${n}`, `${at}, p50`, 'ms'),
        metric(`single-p99.${key}.${n}`, `${at}, p99`, 'ms'),
      ];
    }),
  );
  return [
    ...measured,
    metric('single.keyed.64', 'Millrace, each create with a key of its own, 64 connections', '/s'),
    metric('single.unkeyed.64', 'without keys, right after that', '/s'),
    metric('single.empty.64', 'an empty route, 64 connections', '/s'),
    metric('single-p50.empty.1', 'an empty route, 1 connection, p50', 'ms'),
    metric('single-p50.raw.1', 'one raw durable insert, p50', 'ms'),
  ];
}

const processMetrics = (): Metric[] => [
  ...COUNTS.flatMap((n) => {
    const title = n === 1 ? 'one process' : `${n} processes`;
    return [
      metric(`processes.${n}`, title, '/s'),
      metric(`processes-p50.${n}`, `${title}, p50`, 'ms'),
      metric(`processes-p99.${n}`, `${title}, p99`, 'ms'),
      metric(`processes-cpu.service.${n}`, `${title}: processor per request, the service`, 'µs'),
      metric(`processes-cpu.postgres.${n}`, `${title}: processor per request, PostgreSQL`, 'µs'),
      metric(`processes-cpu.load.${n}`, `${title}: processor per request, the load generator`, 'µs'),
      metric(`processes-model.${n}`, `${title}: what the model says of this machine`, '/s'),
    ];
  }),
  ...MODELLED_CORES.map((cores) =>
    metric(`processes-model.cores.${cores}`, `the model, ${cores} cores, callers elsewhere`, '/s'),
  ),
];

function pageMetrics({ historySome, historyMany }: Scale['jobs']): Metric[] {
  const sizes = { some: historySome, many: historyMany };
  return SIZES.flatMap((size) => [
    ...Object.entries(FILTERS).flatMap(([name, filter]) =>
      Object.keys(DEPTHS).map((depth) => {
        const page = depth === 'first' ? 'first page' : depth;
        const title = `${count(sizes[size])} finished, ${filter || 'no filter'}, ${page}`;
        return metric(`page.${size}.${name}.${depth}`, title, 'ms');
      }),
    ),
    metric(`page.${size}.rare.first`, `${count(sizes[size])} finished, ${RARE}, first page`, 'ms'),
    metric(`page-depth.${size}`, `${count(sizes[size])} finished, slowest page / first page, worst filter`, '×'),
  ]);
}
