import { parser } from '@prometheus-io/lezer-promql';

/** What an expression of PromQL names. */
export interface Names {
  readonly metrics: readonly string[];
  /** Each label that selects or groups, with the metrics of the whole expression. */
  readonly labels: readonly string[];
}

/** What Grafana fills in. */
const filled = (expression: string): string =>
  expression.replaceAll('$__rate_interval', '5m').replaceAll('$job', 'millrace');

/** Fails on an expression that Prometheus would not parse. */
export function namesIn(expression: string): Names {
  const text = filled(expression);
  const metrics = new Set<string>();
  const labels = new Set<string>();
  parser.parse(text).iterate({
    enter: ({ name, from, to, type }) => {
      if (type.isError) throw new Error(`not PromQL, at ${from}: ${text}`);
      const word = text.slice(from, to);
      if (name === 'VectorSelector') metrics.add(/^[\w:]+/.exec(word)![0]);
      if (name === 'LabelName') labels.add(word);
    },
  });
  return { metrics: [...metrics], labels: [...labels] };
}

/** Prometheus's own, and those that it adds to every sample. */
const FROM_PROMETHEUS = new Set(['up', 'job', 'instance', 'le']);

/** Names of metrics and labels that neither `page`, a page of metrics, nor Prometheus knows. */
export function unknownNames(expression: string, page: string): string[] {
  const { metrics, labels } = namesIn(expression);
  const samples = page.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  const nameOf = (line: string): string => /^\w+/.exec(line)![0];
  const known = new Set(samples.map(nameOf));
  const missing = metrics.filter((name) => !known.has(name) && !FROM_PROMETHEUS.has(name));
  const ours = samples.filter((line) => metrics.includes(nameOf(line)));
  const withLabel = (label: string): boolean => ours.some((line) => new RegExp(`[{,]${label}="`).test(line));
  return [...missing, ...labels.filter((label) => !FROM_PROMETHEUS.has(label) && !withLabel(label))];
}
