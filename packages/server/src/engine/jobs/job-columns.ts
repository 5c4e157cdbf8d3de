import { bucketOf, idSuffix } from '../../domain/ids.js';
import type { JobSpec } from '../../domain/records.js';
import { int4Array, int8Array, jsonArray, plainArray, textArray } from '../../store/arrays.js';
import { loadStatements, type Statement } from '../../store/sql.js';
import { isLimited } from '../limits/limited-job.js';
import { random32 } from '../shared/random.js';

/**
 * Jobs to create, as the columns of the statements in jobs/enqueue.sql: an array per column. What several jobs have in
 * common, their kind, is sent once.
 */
const sql = loadStatements('jobs/enqueue.sql');

export interface NewJob {
  readonly tenant: string;
  readonly spec: JobSpec;
}

/** The statement that creates them, without keys. */
export function insertOf(suffixes: readonly string[], jobs: readonly NewJob[]): Statement {
  if (areAlike(jobs)) return sql.create_alike(alikeColumns(suffixes, jobs));
  const kinds = kindsOf(jobs, MANY_KINDS);
  if (kinds !== null) return sql.create_jobs(columns(suffixes, jobs, kinds));
  return sql.create_varied({ suffixes: textArray(suffixes), ...kindColumns(jobs), ...ownColumns(jobs) });
}

/** Idempotency keys, and what is asked for under them. */
export const keyColumns = (jobs: readonly { readonly key: string; readonly digest: number }[]) => ({
  keys: textArray(jobs.map(({ key }) => key)),
  digests: int8Array(jobs.map(({ digest }) => digest)),
});

/** What jobs with limits have like all others: each its own configuration, but mostly the rest in common. */
export const limitedColumns = (jobs: readonly NewJob[]) => ({
  tenants: textArray(onceIfAlike(jobs.map(({ tenant }) => tenant))),
  queues: textArray(onceIfAlike(jobs.map(({ spec }) => spec.queue))),
  tasks: textArray(onceIfAlike(jobs.map(({ spec }) => spec.task))),
  priorities: int4Array(onceIfAlike(jobs.map(({ spec }) => spec.config?.priority ?? 0))),
  configs: jsonArray(jobs.map(({ spec }) => configText(spec))),
  ...ownColumns(jobs),
});

function onceIfAlike<T>(values: readonly T[]): readonly T[] {
  const [first] = values;
  return values.every((value) => value === first) ? values.slice(0, 1) : values;
}

/** The ends of their ids: what the database puts its time before. `areChildren`: their parent is told of their end. */
export function suffixesFor(jobs: readonly NewJob[], areChildren = false): string[] {
  let tenant: string | null = null;
  let bucket = 0;
  return jobs.map((job, position) => {
    if (job.tenant !== tenant) [tenant, bucket] = [job.tenant, bucketOf(job.tenant)];
    return idSuffix(position, bucket, random32(), areChildren || isLimited(job.spec) ? { isLimited: true } : {});
  });
}

export type Jobs = readonly [NewJob, ...NewJob[]];

/** Whether they differ only in their payloads, and are due at once. */
export function areAlike(jobs: readonly NewJob[]): jobs is Jobs {
  const [first] = jobs;
  return (
    first !== undefined &&
    jobs.every(({ spec }, n) => isDueAtOnce(spec) && spec.metadata === null && isAlike(first, jobs[n]!))
  );
}

const isDueAtOnce = ({ runAt, delaySecs }: JobSpec): boolean => runAt === null && delaySecs === null;

const configText = ({ config }: JobSpec): string | null => (config === null ? null : JSON.stringify(config));

export function alikeColumns(suffixes: readonly string[], jobs: Jobs) {
  const { tenant, spec } = jobs[0];
  return {
    tenant,
    queue: spec.queue,
    task: spec.task,
    priority: spec.config?.priority ?? 0,
    config: configText(spec),
    suffixes: textArray(suffixes),
    payloads: jsonArray(jobs.map((job) => job.spec.payload)),
    sizes: sizes(jobs),
  };
}

export const columns = (suffixes: readonly string[], jobs: readonly NewJob[], { kinds, kindOf }: Kinds) => ({
  suffixes: textArray(suffixes),
  kinds: int4Array(kindOf),
  ...kindColumns(kinds),
  ...ownColumns(jobs),
});

const kindColumns = (kinds: readonly NewJob[]) => ({
  tenants: textArray(kinds.map((kind) => kind.tenant)),
  queues: textArray(kinds.map(({ spec }) => spec.queue)),
  tasks: textArray(kinds.map(({ spec }) => spec.task)),
  priorities: int4Array(kinds.map(({ spec }) => spec.config?.priority ?? 0)),
  configs: jsonArray(kinds.map(({ spec }) => configText(spec))),
});

/** What each job has for itself, whatever its kind. */
function ownColumns(jobs: readonly NewJob[]) {
  const runAt = jobs.some(({ spec }) => spec.runAt !== null) ? jobs.map(({ spec }) => spec.runAt) : [];
  const delays = jobs.some(({ spec }) => spec.delaySecs !== null) ? jobs.map(({ spec }) => spec.delaySecs) : [];
  const metadata = jobs.some(({ spec }) => spec.metadata !== null) ? jobs.map(({ spec }) => spec.metadata) : [];
  return {
    run_ats: plainArray(runAt),
    payloads: jsonArray(jobs.map(({ spec }) => spec.payload)),
    metadata: jsonArray(metadata),
    sizes: sizes(jobs),
    delays: int4Array(delays),
  };
}

/** A job smaller than this does not count towards the byte budget of a claim (`millrace.job_size` says the same). */
const SMALL_BYTES = 8192;
const MAX_BYTES_PER_UNIT = 3;

function sizeOf({ spec: { payload, metadata } }: NewJob): number | null {
  if ((payload.length + (metadata?.length ?? 0)) * MAX_BYTES_PER_UNIT < SMALL_BYTES) return null;
  const bytes = Buffer.byteLength(payload) + Buffer.byteLength(metadata ?? '');
  return bytes < SMALL_BYTES ? null : bytes;
}

/** Empty if all are small. */
function sizes(jobs: readonly NewJob[]): Buffer {
  const all = jobs.map(sizeOf);
  return int4Array(all.some((size) => size !== null) ? all : []);
}

interface Kinds {
  /** One job of each kind. */
  readonly kinds: readonly NewJob[];
  /** For every job the number of its kind, from 1. */
  readonly kindOf: readonly number[];
}

/** More kinds than this are not worth being told apart. */
const MANY_KINDS = 64;

/** Null: there are more than `most`. Jobs of one kind tend to come one after another. */
export function kindsOf(jobs: readonly NewJob[]): Kinds;
export function kindsOf(jobs: readonly NewJob[], most: number): Kinds | null;
export function kindsOf(jobs: readonly NewJob[], most = Infinity): Kinds | null {
  const kinds: NewJob[] = [];
  const kindOf: number[] = [];
  const numbers = new Map<string, number>();
  let last: NewJob | null = null;
  let number = 0;
  for (const job of jobs) {
    if (last === null || !isAlike(last, job)) {
      last = job;
      const { queue, task, config } = job.spec;
      const kind = JSON.stringify([job.tenant, queue, task, config]);
      number = numbers.get(kind) ?? kinds.push(job);
      if (number > most) return null;
      numbers.set(kind, number);
    }
    kindOf.push(number);
  }
  return { kinds, kindOf };
}

const isAlike = (a: NewJob, b: NewJob): boolean =>
  a.tenant === b.tenant &&
  a.spec.queue === b.spec.queue &&
  a.spec.task === b.spec.task &&
  a.spec.config === b.spec.config;
