import { AXIS_NAMES, growthMetric, MEASURE_NAMES, MEASURES, sizeTitle, slowdown } from '../cases/growth/axes.js';
import { DEPTHS, FILTERS } from '../cases/history.js';
import type { CaseName } from '../cases/names.js';
import { CONNECTIONS } from '../cases/single.js';
import type { Results } from '../results.js';
import type { Scale } from '../scale.js';
import { DRAINED, ENQUEUED } from './metrics.js';
import { panelChart } from './panels.js';
import { barChart, lineChart, type BarChart } from './svg.js';

export interface Plot {
  readonly of: CaseName;
  readonly file: string;
  readonly svg: string;
}

/** Each plot that has something to show. */
export function plots(results: Results, scale: Scale): Plot[] {
  const drawn: Plot[] = [];
  const bars = (of: CaseName, file: string, title: string, unit: string, shown: BarChart['bars']): void => {
    if (shown.length > 0) drawn.push({ of, file, svg: barChart({ title, unit, bars: shown }) });
  };
  bars('throughput', 'drain.svg', 'Drain in process, jobs per second', '/s', contenders(results, 'drain', DRAINED));
  bars('throughput', 'enqueue.svg', 'Batch enqueue, jobs per second', '/s', contenders(results, 'enqueue', ENQUEUED));
  bars('single', 'single.svg', 'Single enqueue over HTTP, requests per second', '/s', singles(results));
  bars('latency', 'latency.svg', 'From POST to the start of the handler', 'ms', latencies(results));
  const many = scale.jobs.historyMany.toLocaleString('en-GB');
  bars('history', 'pages.svg', `A page of 50 out of ${many} finished jobs`, 'ms', pages(results));
  const snapshot = snapshotPlot(results, scale);
  if (snapshot !== null) drawn.push({ of: 'snapshot', file: 'snapshot.svg', svg: snapshot });
  const growth = growthPlot(results, scale);
  if (growth !== null) drawn.push({ of: 'growth', file: 'growth.svg', svg: growth });
  return drawn;
}

type Bars = BarChart['bars'];

function bar(results: Results, metric: string, label: string, ours: boolean): Bars {
  const found = results.of(metric);
  return found === null ? [] : [{ label, value: found.median, ours }];
}

const contenders = (results: Results, kind: string, titles: Readonly<Record<string, string>>): Bars =>
  Object.entries(titles)
    .flatMap(([key, title]) => bar(results, `${kind}.${key}`, title, key === 'millrace'))
    .sort((a, b) => b.value - a.value);

const singles = (results: Results): Bars =>
  CONNECTIONS.flatMap((n) => [
    ...bar(results, `single.route.${n}`, `route without database, ${n}`, false),
    ...bar(results, `single.millrace.${n}`, `durable, ${n} connection${n === 1 ? '' : 's'}`, true),
  ]);

const latencies = (results: Results): Bars =>
  (['idle', 'half'] as const).flatMap((load) => {
    const name = load === 'idle' ? 'idle' : 'half load';
    return [
      ...bar(results, `latency-p50.${load}`, `${name}, p50`, true),
      ...bar(results, `latency-p99.${load}`, `${name}, p99`, false),
    ];
  });

const pages = (results: Results): Bars =>
  Object.entries(FILTERS).flatMap(([name, filter]) =>
    Object.keys(DEPTHS).flatMap((depth) =>
      bar(results, `page.many.${name}.${depth}`, `${filter || 'no filter'}, ${depth}`, depth === 'first'),
    ),
  );

function snapshotPlot(results: Results, scale: Scale): string | null {
  const clean = results.curveOf('snapshot.clean');
  const held = results.curveOf('snapshot.held');
  if (clean === null || held === null) return null;
  const jobs = scale.jobs.snapshot.toLocaleString('en-GB');
  return lineChart({
    title: `Drain of ${jobs} jobs while another session holds a snapshot`,
    unit: 'jobs per second',
    across: 'share of the jobs done',
    lines: [
      { label: 'no other session', values: clean },
      { label: 'snapshot held', values: held, ours: true },
    ],
  });
}

/** Each line is one thing of which there is more and more; a flat one does not mind. */
function growthPlot(results: Results, scale: Scale): string | null {
  const { steps } = scale.growth;
  const panels = MEASURE_NAMES.map((measure) => ({
    title: MEASURES[measure].title,
    lines: AXIS_NAMES.map((axis) =>
      steps.map((step) => {
        const pair = [growthMetric(axis, measure, 'few'), growthMetric(axis, measure, step)];
        return results.combine(pair, (few, now) => slowdown(measure, few, now))?.median ?? NaN;
      }),
    ),
  }));
  if (!panels.every(({ lines }) => lines.flat().every(Number.isFinite))) return null;
  return panelChart({
    title: 'Growth: how many times slower, with few, some and many',
    across: steps,
    panels,
    legend: AXIS_NAMES.map((axis) => sizeTitle(scale.growth, axis, 'many')),
  });
}
