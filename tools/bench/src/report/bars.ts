import { AXES, AXIS_NAMES, growthMetric, MEASURE_NAMES, MEASURES, slowdown } from '../cases/growth/axes.js';
import { INSIGHT_TITLES } from '../cases/insight.js';
import { SHARING } from '../cases/limits.js';
import { COUNTS } from '../cases/processes.js';
import type { CaseName } from '../cases/names.js';
import type { Measured, Results } from '../results.js';

/** A promise about the speed of the service. Ratios are taken per round; the median decides. */
export interface Bar {
  readonly of: CaseName;
  readonly title: string;
  readonly metrics: readonly string[];
  readonly formula: (...values: number[]) => number;
  readonly limit: number;
  readonly better: 'more' | 'less';
  readonly unit: string;
}

export interface Judged {
  readonly bar: Bar;
  readonly measured: Measured;
  readonly passed: boolean;
}

const ratio = (a: number, b: number): number => a / b;
const itself = (a: number): number => a;

const atLeast = (of: CaseName, title: string, limit: number, metrics: readonly [string, string]): Bar => ({
  of,
  title,
  metrics,
  formula: ratio,
  limit,
  better: 'more',
  unit: '×',
});

const atMost = (
  of: CaseName,
  title: string,
  limit: number,
  unit: string,
  metrics: readonly string[],
  formula: Bar['formula'] = itself,
): Bar => ({ of, title, metrics, formula, limit, better: 'less', unit });

/**
 * No curve of `growth` may rise; active tenants have more room, since jobs of different tenants cannot share a bundle.
 */
const growthBars = (): Bar[] =>
  AXIS_NAMES.flatMap((axis) =>
    MEASURE_NAMES.map((measure) =>
      atMost(
        'growth',
        `${MEASURES[measure].title}: slowdown with many ${AXES[axis].many}`,
        axis === 'active-tenants' ? 2.5 : 1.5,
        '×',
        [growthMetric(axis, measure, 'few'), growthMetric(axis, measure, 'many')],
        (few, many) => slowdown(measure, few, many),
      ),
    ),
  );

export const BARS: readonly Bar[] = [
  atLeast('throughput', 'drain / graphile-worker tuned', 2, ['drain.millrace', 'drain.graphile-tuned']),
  atLeast('throughput', 'drain / graphile-worker plain', 8, ['drain.millrace', 'drain.graphile-plain']),
  atLeast('throughput', 'drain / pg-boss', 5, ['drain.millrace', 'drain.pg-boss']),
  atLeast('throughput', 'drain / River', 2, ['drain.millrace', 'drain.river']),
  atLeast('throughput', 'drain / BullMQ', 3, ['drain.millrace', 'drain.bullmq']),
  atLeast('throughput', 'drain / raw claim and settle', 1 / 3, ['drain.millrace', 'drain.raw']),
  atLeast('throughput', 'batch enqueue / graphile-worker', 1.5, ['enqueue.millrace', 'enqueue.graphile']),
  atLeast('throughput', 'batch enqueue / pg-boss', 1.5, ['enqueue.millrace', 'enqueue.pg-boss']),
  atLeast('throughput', 'batch enqueue / raw batched insert', 0.5, ['enqueue.millrace', 'enqueue.raw']),
  atLeast('single', 'single enqueue with a key each / without, 64 connections', 0.85, [
    'single.keyed.64',
    'single.unkeyed.64',
  ]),
  atLeast('single', 'single enqueue, 64 connections / the route without a database', 0.45, [
    'single.millrace.64',
    'single.route.64',
  ]),
  ...COUNTS.map((count) =>
    atMost(
      'processes',
      `the model of processes: how far it is from what ${count === 1 ? 'one process' : `${count} processes`} did`,
      0.2,
      '×',
      [`processes-model.${count}`, `processes.${count}`],
      (model, real) => Math.abs(model / real - 1),
    ),
  ),
  atMost(
    'single',
    'single enqueue, 1 connection / (raw insert + empty request)',
    1.5,
    '×',
    ['single-p50.millrace.1', 'single-p50.raw.1', 'single-p50.empty.1'],
    (ours, insert, request) => ours / (insert + request),
  ),
  atLeast('remote', 'remote completions / requests to an empty route', 0.25, ['remote.millrace', 'remote.empty']),
  atLeast('remote', 'remote workers with one call per hundred / one per job', 2.5, [
    'remote-batched.millrace',
    'remote.millrace',
  ]),
  atLeast('remote', 'remote workers with one call per hundred / raw lease and settle', 0.5, [
    'remote-batched.millrace',
    'remote-batched.raw',
  ]),
  atLeast('remote', "the SDK's worker / a loop written by hand with fetch, one call per hundred", 0.8, [
    'remote-sdk.millrace',
    'remote-fetch.millrace',
  ]),
  atLeast('remote', "the SDK's worker / one call per job", 2, ['remote-sdk.millrace', 'remote.millrace']),
  atMost('latency', 'POST to handler start, idle, p50', 5, 'ms', ['latency-p50.idle']),
  atMost('latency', 'POST to handler start, idle, p99', 25, 'ms', ['latency-p99.idle']),
  atLeast('outbox', 'entries through one relay / direct batches', 0.5, ['outbox.relayed', 'outbox.direct']),
  atMost(
    'outbox',
    'enqueue in a transaction / a plain insert of the same row',
    1.5,
    '×',
    ['outbox-insert.enqueue', 'outbox-insert.plain'],
    ratio,
  ),
  atMost('outbox', 'commit to handler start, idle, p50', 100, 'ms', ['outbox-p50.handler']),
  atMost(
    'workflows',
    'a workflow of three steps / a plain job',
    4,
    '×',
    ['workflows.plain', 'workflows.three-steps'],
    ratio,
  ),
  atMost(
    'durable',
    'a checkpoint / a heartbeat that carries progress',
    1.5,
    '×',
    ['durable-call.checkpoint', 'durable-call.heartbeat'],
    ratio,
  ),
  atMost('durable', 'signal to the lease of the job that waited, p50', 50, 'ms', ['durable-wake-p50.signal']),
  atMost('durable', 'last of a thousand children to the lease of the parent', 1_000, 'ms', ['durable-wake.children']),
  atMost(
    'durable',
    'resuming a thousand steps from the first / starting them',
    2,
    '×',
    ['durable-steps.resume', 'durable-steps.start'],
    ratio,
  ),
  atMost(
    'durable',
    'idle: statements that jobs which sleep or wait add',
    0.5,
    '/s',
    ['durable-idle-statements.beside', 'durable-idle-statements.without'],
    (beside, without) => beside - without,
  ),
  atMost(
    'durable',
    'idle: processor time that jobs which sleep or wait add',
    0.2,
    '% of a core',
    ['durable-idle-cpu.beside', 'durable-idle-cpu.without'],
    (beside, without) => beside - without,
  ),
  ...SHARING.map((n) =>
    atLeast('limits', `drain of a queue that tenants share (${n}) / the same without`, 0.7, [
      `shares.with.${n}`,
      `shares.without.${n}`,
    ]),
  ),
  atMost(
    'limits',
    "a newcomer's jobs where tenants take turns / where they do not",
    0.05,
    '×',
    ['newcomer.with', 'newcomer.without'],
    ratio,
  ),
  atMost(
    'limits',
    'processor time with limits that are never reached / without',
    1.6,
    '×',
    ['limited-cpu.roomy', 'limited-cpu.none'],
    ratio,
  ),
  atMost(
    'limits',
    'the same, created first',
    1.6,
    '×',
    ['limited-backlog-cpu.roomy', 'limited-backlog-cpu.none'],
    ratio,
  ),
  atMost(
    'limits',
    'processor time with limits that are reached again and again / without',
    3,
    '×',
    ['limited-cpu.full', 'limited-cpu.none'],
    ratio,
  ),
  atMost(
    'limits',
    'processor time with limits that are always reached (created first) / without',
    3,
    '×',
    ['limited-backlog-cpu.full', 'limited-backlog-cpu.none'],
    ratio,
  ),
  {
    of: 'limits',
    title: 'one key with running: 1',
    metrics: ['limited.one-key'],
    formula: itself,
    limit: 100,
    better: 'more',
    unit: 'jobs/s',
  },
  atMost('limits', 'idle beside many keys: processor', 1, '% of a core', ['limits-idle.cpu']),
  atLeast('cells', 'drain of four databases / of one, on the same processor', 0.8, ['cells.4', 'cells.1']),
  atMost(
    'cells',
    'a lease over four databases / over one, p50',
    2,
    '×',
    ['cells-lease-p50.4', 'cells-lease-p50.1'],
    ratio,
  ),
  atMost(
    'cells',
    'idle: statements that each further database adds',
    2,
    '/s',
    ['cells-idle.4', 'cells-idle.1'],
    (four, one) => (four - one) / 3,
  ),
  atLeast('history', 'drain with much history / with none', 0.9, ['history.many', 'history.empty']),
  atMost('history', 'any page by cursor / the first', 3, '×', ['page-depth.many']),
  ...(['counts', 'counts-queue', 'series', 'series-task', 'series-days'] as const).map((name) =>
    atMost('insight', `GET ${INSIGHT_TITLES[name]} / GET a job`, 5, '×', [`insight.${name}`, 'insight.job'], ratio),
  ),
  atLeast('snapshot', 'drain under a held snapshot / clean', 0.8, ['snapshot.held', 'snapshot.clean']),
  {
    of: 'snapshot',
    title: 'under a held snapshot, last quarter / first quarter',
    metrics: ['snapshot-flatness.held'],
    formula: itself,
    limit: 0.8,
    better: 'more',
    unit: '×',
  },
  atMost('wal', 'write-ahead log per job', 1_100, 'bytes', ['wal.batch']),
  atMost('idle', 'idle: processor', 1, '% of a core', ['idle.cpu']),
  atMost('idle', 'idle: statements', 2, '/s', ['idle.statements']),
  atMost('idle', 'idle: resident memory', 150, 'MiB', ['idle.memory']),
  ...growthBars(),
];

export function judge(results: Results): Judged[] {
  return BARS.flatMap((bar) => {
    const measured = results.combine(bar.metrics, bar.formula);
    if (measured === null) return [];
    const passed = bar.better === 'more' ? measured.median >= bar.limit : measured.median <= bar.limit;
    return [{ bar, measured, passed }];
  });
}
