import { SERIES_TENANTS_SHOWN, type AdminSeries } from '@millrace/contract';

/** A plot of whose jobs ended over time: how it is put together from what was counted, in one cell or in several. */
export type EndsByTenant = Omit<AdminSeries, 'warnings'>;

type Shown = EndsByTenant['tenants'][number];

/** The steps of a plot, in seconds since 1970. */
export interface PlotSteps {
  readonly first: number;
  readonly step: number;
  readonly until: number;
}

/** How many jobs of a tenant ended in the step that begins `at`. A tenant of null stands for those not named. */
export type Ended = readonly [tenant: string | null, at: number, n: number];

export function plotOf(
  { first, step, until }: PlotSteps,
  ended: readonly Ended[],
  countedFrom: number | null,
): EndsByTenant {
  const length = Math.max(0, Math.ceil((until - first) / step));
  const empty = (): number[] => new Array<number>(length).fill(0);
  const others = empty();
  const byTenant = new Map<string, number[]>();
  for (const [tenant, at, n] of ended) {
    const column = tenant === null ? others : (byTenant.get(tenant) ?? empty());
    if (tenant !== null) byTenant.set(tenant, column);
    column[Math.round((at - first) / step)]! += n;
  }
  return {
    from: instantAt(first),
    step_secs: step,
    tenants: largestFirst([...byTenant].map(([tenant_id, ended]) => ({ tenant_id, ended }))),
    others,
    counted_from: countedFrom === null ? null : instantAt(countedFrom),
  };
}

/**
 * One plot from those of several cells, whose clocks may disagree by a step. A tenant is in one cell, so the largest of
 * all are among those that the cells name.
 */
export function mergedPlots(plots: readonly EndsByTenant[]): EndsByTenant {
  const step = Math.max(...plots.map(({ step_secs }) => step_secs));
  const of = plots.filter(({ step_secs }) => step_secs === step);
  const first = Math.min(...of.map(({ from }) => secondsOf(from)));
  const until = Math.max(...of.map(({ from, others }) => secondsOf(from) + others.length * step));
  const named = largestFirst(of.flatMap(({ tenants }) => tenants)).slice(0, SERIES_TENANTS_SHOWN);
  const names = new Set(named.map(({ tenant_id }) => tenant_id));
  const ended = of.flatMap(({ from, tenants, others }) => {
    const at = (index: number): number => secondsOf(from) + index * step;
    const columns = [{ tenant_id: null, ended: others }, ...tenants];
    return columns.flatMap(({ tenant_id, ended }) => {
      const name = tenant_id !== null && names.has(tenant_id) ? tenant_id : null;
      return ended.map((n, index): Ended => [name, at(index), n]);
    });
  });
  const cuts = of.map(({ counted_from }) => counted_from).filter((at) => at !== null);
  const countedFrom = cuts.length === 0 ? null : Math.max(...cuts.map(secondsOf));
  return plotOf({ first, step, until }, ended, countedFrom);
}

const largestFirst = (columns: readonly Shown[]): Shown[] =>
  [...columns].sort((a, b) => sumOf(b.ended) - sumOf(a.ended) || (a.tenant_id < b.tenant_id ? -1 : 1));

const sumOf = (numbers: readonly number[]): number => numbers.reduce((sum, n) => sum + n, 0);

const instantAt = (seconds: number): string => new Date(seconds * 1000).toISOString();

const secondsOf = (instant: string): number => Date.parse(instant) / 1000;
