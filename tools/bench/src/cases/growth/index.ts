import { Scope, type Bench, type Case } from '../../bench.js';
import type { BenchDatabase } from '../../env/postgres.js';
import { QUEUE } from '../../work.js';
import { FinishedJobs } from '../finished-jobs.js';
import { AXIS_NAMES, growthMetric, sizeAt, type Axis, type Step } from './axes.js';
import { insertJobs, registerTenants } from './fill.js';
import { measureAll, type Grown } from './measure.js';

/** Enough for a page of whoever asks. */
const OWN_FINISHED = 1_000;
const RECENT_MS = 1_200_000;
const EARLIER_MS = 3_000_000;
const OTHER_QUEUE = 'other';
const PER_QUEUE = 10;
const DUE_IN_HOURS = 30 * 24;

/**
 * Whether the service stays as fast as it is when a database fills with tenants, queues, priorities, scheduled or
 * finished jobs. Each axis has databases of its own, filled once; in every round they are measured in turn, so that a
 * ratio compares neighbours: from few to many, and in the next round from many to few, because a machine that becomes
 * slower meanwhile would look like growth.
 */
export const growth: Case = async (bench) => {
  const scope = new Scope(bench);
  const prepared: { readonly axis: Axis; readonly step: Step; readonly grown: Grown }[] = [];
  try {
    for (const axis of AXIS_NAMES) {
      for (const step of bench.scale.growth.steps) {
        prepared.push({ axis, step, grown: await grow(scope, axis, sizeAt(bench.scale.growth, axis, step)) });
      }
    }
  } catch (error) {
    await scope.close();
    throw error;
  }
  return {
    round: async () => {
      for (const { axis, step, grown } of prepared) await measure(bench, axis, step, grown);
      prepared.reverse();
    },
    close: () => scope.close(),
  };
};

const measure = (bench: Bench, axis: Axis, step: Step, grown: Grown): Promise<void> =>
  measureAll(bench, grown, (name, value) => bench.results.record(growthMetric(axis, name, step), value));

async function grow(scope: Scope, axis: Axis, size: number): Promise<Grown> {
  const database = await scope.database('millrace');
  await registerTenants(database, axis === 'tenants' || axis === 'active-tenants' ? size : 1);
  await fill(database, axis, size);
  const own = { count: OWN_FINISHED, startMs: Date.now() - RECENT_MS, stepMs: 1, queue: QUEUE };
  await insertJobs(database, 'finished', own);
  await scope.bench.postgres.settle(database);
  return {
    database,
    tenants: axis === 'active-tenants' ? size : 1,
    ...(axis === 'priorities' ? { priorities: size } : {}),
  };
}

async function fill(database: BenchDatabase, axis: Axis, size: number): Promise<void> {
  const rows = { count: size, startMs: Date.now() - EARLIER_MS, stepMs: 0.1, queue: QUEUE };
  switch (axis) {
    case 'tenants':
      return insertJobs(database, 'finished', { ...rows, tenants: size });
    case 'active-tenants':
      return;
    case 'queues':
      return insertJobs(database, 'waiting', { ...rows, count: size * PER_QUEUE, queue: OTHER_QUEUE, queues: size });
    case 'priorities':
      return insertJobs(database, 'waiting', { ...rows, priorities: size, dueInHours: DUE_IN_HOURS });
    case 'scheduled':
      return insertJobs(database, 'waiting', { ...rows, dueInHours: DUE_IN_HOURS });
    case 'finished':
      return new FinishedJobs(database, Math.max(1, size)).growTo(size);
  }
}
