import { DEPTHS, FILTERS } from '../cases/history.js';
import { CONNECTIONS } from '../cases/single.js';
import type { Results } from '../results.js';
import type { Scale } from '../scale.js';
import { DRAINED, ENQUEUED } from './metrics.js';
import { barChart, lineChart, type BarChart } from './svg.js';

/** File name and contents of each plot that has something to show. */
export function plots(results: Results, scale: Scale): Map<string, string> {
  const drawn = new Map<string, string>();
  const bars = (file: string, title: string, unit: string, shown: BarChart['bars']): void => {
    if (shown.length > 0) drawn.set(file, barChart({ title, unit, bars: shown }));
  };
  bars('drain.svg', 'Drain in process, jobs per second', '/s', contenders(results, 'drain', DRAINED));
  bars('enqueue.svg', 'Batch enqueue, jobs per second', '/s', contenders(results, 'enqueue', ENQUEUED));
  bars('single.svg', 'Single enqueue over HTTP, requests per second', '/s', singles(results));
  bars('latency.svg', 'From POST to the start of the handler', 'ms', latencies(results));
  const many = scale.jobs.historyMany.toLocaleString('en-GB');
  bars('pages.svg', `A page of 50 out of ${many} finished jobs`, 'ms', pages(results));
  const snapshot = snapshotPlot(results, scale);
  if (snapshot !== null) drawn.set('snapshot.svg', snapshot);
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
