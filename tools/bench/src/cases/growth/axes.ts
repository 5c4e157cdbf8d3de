/** What a database may come to hold much of. Each axis is measured with as little of it as possible, some, and much. */
export const AXES = {
  tenants: { one: 'tenant', many: 'tenants' },
  'active-tenants': { one: 'active tenant', many: 'active tenants' },
  queues: { one: 'queue', many: 'queues' },
  priorities: { one: 'priority', many: 'priorities' },
  scheduled: { one: 'scheduled job', many: 'scheduled jobs' },
  finished: { one: 'finished job', many: 'finished jobs' },
} as const;

export type Axis = keyof typeof AXES;
export const AXIS_NAMES = Object.keys(AXES) as readonly Axis[];

export interface Measure {
  readonly title: string;
  readonly unit: string;
  readonly better: 'more' | 'less';
}

export const MEASURES = {
  drain: { title: 'drain', unit: 'jobs/s', better: 'more' },
  create: { title: 'a create, p50', unit: 'ms', better: 'less' },
  page: { title: 'a page of 50', unit: 'ms', better: 'less' },
  sweep: { title: 'a sweep of the janitor', unit: 'ms', better: 'less' },
  retention: { title: 'retention', unit: 'rows/s', better: 'more' },
} as const satisfies Record<string, Measure>;

export type MeasureName = keyof typeof MEASURES;
export const MEASURE_NAMES = Object.keys(MEASURES) as readonly MeasureName[];

export type Step = 'few' | 'some' | 'many';

export interface GrowthScale {
  readonly steps: readonly Step[];
  /** The far end of each axis. */
  readonly many: Readonly<Record<Axis, number>>;
  readonly drained: number;
  /** Leases that a sweep finds expired. */
  readonly leases: number;
  /** Finished jobs that retention removes. */
  readonly expired: number;
}

const SOME_SHARE = 0.1;
/** Nobody does without a tenant, a queue and a priority. */
const FEWEST: Readonly<Record<Axis, number>> = {
  tenants: 1,
  'active-tenants': 1,
  queues: 1,
  priorities: 1,
  scheduled: 0,
  finished: 0,
};

export function sizeAt({ many }: GrowthScale, axis: Axis, step: Step): number {
  const share = { few: 0, some: SOME_SHARE, many: 1 }[step];
  return Math.max(FEWEST[axis], Math.round(many[axis] * share));
}

export function sizeTitle(scale: GrowthScale, axis: Axis, step: Step): string {
  const size = sizeAt(scale, axis, step);
  if (size === 1) return `1 ${AXES[axis].one}`;
  return `${size === 0 ? 'no' : size.toLocaleString('en-GB')} ${AXES[axis].many}`;
}

export const growthMetric = (axis: Axis, measure: MeasureName, step: Step): string =>
  `growth.${axis}.${measure}.${step}`;

/** How many times slower it is with many than with few; below 1 if it is faster. */
export const slowdown = (measure: MeasureName, few: number, many: number): number =>
  MEASURES[measure].better === 'more' ? few / many : many / few;
