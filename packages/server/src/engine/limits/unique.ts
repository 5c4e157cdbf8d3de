import type { UniqueInput } from '@millrace/contract';
import { unavailable } from '../../domain/errors.js';
import { createdMsOf } from '../../domain/ids.js';
import type { JobSpec } from '../../domain/records.js';
import { textArray, uuidArray } from '../../store/arrays.js';
import type { Execute } from '../../store/connection/database.js';
import { loadStatements } from '../../store/sql.js';
import { listIn } from '../../store/rows.js';
import { limitId } from '../shared/limit-id.js';
import type { LimitedJob } from './limited-job.js';

/**
 * Unique jobs: of the jobs to create, which are written, and which are another one that is there already. The keys are
 * held until the transaction ends, so two creates at once, in whatever processes, make one job. What happens to a job
 * later, nobody tells its key: whoever holds the key next looks.
 */
const sql = loadStatements('limits/unique.sql');

/** A job that moves between its line and its queue is missed once; none keeps that up. */
const ROUNDS = 100;

/** A job to write: a new one, or what becomes of one that waits. */
export interface Write extends LimitedJob {
  /** The job that it replaces, if it does: it takes its id. */
  readonly replaces?: string;
  /** By when such a job is due at the latest, if it waits at all. */
  readonly latest?: string | null;
}

export interface UniqueOutcome {
  readonly writes: readonly Write[];
  /** For each job: the number of the write whose job it is, or the id of one that is left as it is. */
  readonly places: readonly Place[];
  /** Limits that a job which is written anew has left. */
  readonly looks: readonly string[];
}

export interface Place {
  readonly write: number | null;
  readonly id: string | null;
  /** It creates nothing. */
  readonly existing: boolean;
}

/** The newest job of a key. */
interface Holder {
  readonly write: number | null;
  readonly id: string | null;
  readonly waiting: boolean;
  readonly unfinished: boolean;
}

interface StoredHolder extends Holder {
  readonly id: string;
  readonly tenant: string;
}

export const isUnique = ({ config }: JobSpec): boolean => config?.unique !== undefined;

/** `execute` is that of the transaction that writes the jobs. */
export async function resolveUnique(execute: Execute, jobs: readonly LimitedJob[]): Promise<UniqueOutcome> {
  if (!jobs.some(({ spec }) => isUnique(spec))) {
    return { writes: jobs, places: jobs.map((_, n) => ({ write: n, id: null, existing: false })), looks: [] };
  }
  const firsts = firstsOf(jobs);
  const stored = await holdersOf(execute, firsts);
  const { replaceable, looks } = await takeReplaced(execute, jobs, stored);
  const plan = new Plan(replaceable);
  for (const job of jobs) plan.add(job);
  const given = [...plan.holders].flatMap(([id, { write }]) => {
    const job = write !== null && stored.has(id) ? plan.writes[write]! : null;
    return job && job.replaces === undefined ? [{ id, suffix: job.suffix }] : [];
  });
  if (given.length > 0) {
    const ids = uuidArray(given.map(({ id }) => id));
    await execute(sql.keep_unique({ ids, suffixes: textArray(given.map(({ suffix }) => suffix)) }));
  }
  return { writes: plan.writes, places: plan.places, looks };
}

/** Idempotency keys of jobs that were there lead to those. */
export async function rememberExisting(
  execute: Execute,
  found: readonly { readonly tenant: string; readonly key: string; readonly id: string }[],
): Promise<void> {
  if (found.length === 0) return;
  await execute(
    sql.remember_existing({
      tenants: textArray(found.map(({ tenant }) => tenant)),
      keys: textArray(found.map(({ key }) => key)),
      job_ids: uuidArray(found.map(({ id }) => id)),
    }),
  );
}

export const FIRST_ID = '00000000-0000-0000-0000-000000000000';
const DROP_BATCH = 1_000;
const DROP_ROUNDS = 20;

/** Removes the keys of jobs that have ended, of so many of those after `after`. Returns where to go on. */
export async function dropEnded(execute: Execute, after: string): Promise<string> {
  let last = after;
  for (let round = 0; round < DROP_ROUNDS; round++) {
    const [row] = await execute<{ last: string | null; walked: number }>(
      sql.drop_ended_unique({ after: last, max_keys: DROP_BATCH }),
    );
    if (row?.walked !== DROP_BATCH) return FIRST_ID;
    last = row.last!;
  }
  return last;
}

const uniqueOf = ({ spec }: LimitedJob): UniqueInput | undefined => spec.config?.unique;

const idOf = ({ tenant, spec }: LimitedJob, { key }: UniqueInput): string => limitId(tenant, spec.queue, key);

/** The first job of each key, by the key's id. */
function firstsOf(jobs: readonly LimitedJob[]): ReadonlyMap<string, LimitedJob> {
  const firsts = new Map<string, LimitedJob>();
  for (const job of jobs) {
    const unique = uniqueOf(job);
    const id = unique && idOf(job, unique);
    if (id !== undefined && !firsts.has(id)) firsts.set(id, job);
  }
  return firsts;
}

/** Takes or locks the keys, and returns who has those that were taken. */
async function holdersOf(
  execute: Execute,
  firsts: ReadonlyMap<string, LimitedJob>,
): Promise<Map<string, StoredHolder>> {
  const holders: { readonly id: string; readonly job_id: string }[] = [];
  // A key that was taken and is gone again belonged to a job that had ended.
  for (let left = [...firsts]; left.length > 0;) {
    const fresh = await execute<{ id: string }>(
      sql.take_unique({
        ids: uuidArray(left.map(([id]) => id)),
        suffixes: textArray(left.map(([, { suffix }]) => suffix)),
        tenants: textArray(left.map(([, { tenant }]) => tenant)),
      }),
    );
    const ours = new Set(fresh.map(({ id }) => id));
    left = left.filter(([id]) => !ours.has(id));
    if (left.length === 0) break;
    const locked = await execute<{ id: string; job_id: string }>(
      sql.lock_unique({ ids: uuidArray(left.map(([id]) => id)) }),
    );
    holders.push(...locked);
    const known = new Set(locked.map(({ id }) => id));
    left = left.filter(([id]) => !known.has(id));
  }
  const named = holders.map(({ id, job_id: job }) => ({ key: id, id: job, tenant: firsts.get(id)!.tenant }));
  const states = await statesOf(execute, named);
  return new Map(named.map(({ key, id, tenant }, n) => [key, { write: null, id, tenant, ...states[n]! }]));
}

async function statesOf(
  execute: Execute,
  jobs: readonly { readonly tenant: string; readonly id: string }[],
): Promise<{ readonly waiting: boolean; readonly unfinished: boolean }[]> {
  if (jobs.length === 0) return [];
  const rows = await execute<{ n: number; waiting: boolean; unfinished: boolean }>(
    sql.states_of_unique(jobColumns(jobs)),
  );
  return rows.sort((x, y) => x.n - y.n);
}

const jobColumns = (jobs: readonly { readonly tenant: string; readonly id: string }[]) => ({
  tenants: textArray(jobs.map(({ tenant }) => tenant)),
  job_ids: uuidArray(jobs.map(({ id }) => id)),
});

/**
 * Takes those out of their queues that one of the jobs replaces, so that nobody claims them meanwhile. One that has
 * been claimed before that waits no longer.
 */
async function takeReplaced(
  execute: Execute,
  jobs: readonly LimitedJob[],
  stored: ReadonlyMap<string, StoredHolder>,
): Promise<{ replaceable: Map<string, Holder>; looks: readonly string[] }> {
  const replaceable = new Map<string, Holder>(stored);
  const looks: string[] = [];
  const wanted = new Set(
    jobs.flatMap((job) => {
      const unique = uniqueOf(job);
      return unique?.on_conflict === 'replace' ? [idOf(job, unique)] : [];
    }),
  );
  let left = [...stored].filter(([key, { waiting }]) => waiting && wanted.has(key));
  for (let round = 0; left.length > 0; round++) {
    if (round === ROUNDS) throw unavailable('the jobs change too quickly to be replaced; try again shortly');
    const asked = left.map(([, holder]) => holder);
    const [row] = await execute<{ ids: string | null; looks: string | null }>(sql.take_waiting(jobColumns(asked)));
    const taken = new Set(listIn<string>(row?.ids));
    looks.push(...listIn<string>(row?.looks));
    left = left.filter(([, { id }]) => !taken.has(id));
    const states = await statesOf(
      execute,
      left.map(([, holder]) => holder),
    );
    left.forEach(([key, holder], n) => replaceable.set(key, { ...holder, ...states[n]! }));
    left = left.filter((_, n) => states[n]!.waiting);
  }
  return { replaceable, looks };
}

/** Goes through the jobs in their order: one of a request is in the way of a later one like any other. */
class Plan {
  readonly writes: Write[] = [];
  readonly places: Place[] = [];

  constructor(readonly holders: Map<string, Holder>) {}

  add(job: LimitedJob): void {
    const unique = uniqueOf(job);
    if (unique === undefined) return this.#create(job);
    const key = idOf(job, unique);
    const holder = this.holders.get(key);
    if (!holder || !(unique.while === 'waiting' ? holder.waiting : holder.unfinished)) {
      this.holders.set(key, { write: this.writes.length, id: null, waiting: true, unfinished: true });
      return this.#create(job);
    }
    if (unique.on_conflict === 'replace') this.#replace(job, unique, key, holder);
    const { write, id } = this.holders.get(key)!;
    this.places.push({ write, id: write === null ? id : null, existing: true });
  }

  #create(job: LimitedJob): void {
    this.places.push({ write: this.writes.length, id: null, existing: false });
    this.writes.push({ ...job, spec: boundedSpec(job.spec) });
  }

  #replace(job: LimitedJob, { max_wait_secs: maxWait }: UniqueInput, key: string, holder: Holder): void {
    const spec = boundedSpec(job.spec);
    const { write, id } = holder;
    if (write !== null) {
      const before = this.writes[write]!;
      this.writes[write] = { ...before, spec, latest: latestOf(before.replaces, maxWait) };
      return;
    }
    this.holders.set(key, { ...holder, write: this.writes.length });
    const suffix = id!.replaceAll('-', '');
    this.writes.push({ ...job, spec, suffix, replaces: id!, latest: latestOf(id, maxWait) });
  }
}

/** What is put off within one request is bounded from now on. */
function boundedSpec(spec: JobSpec): JobSpec {
  const maxWait = spec.config?.unique?.max_wait_secs;
  if (typeof maxWait !== 'number' || spec.delaySecs === null || spec.delaySecs <= maxWait) return spec;
  return { ...spec, delaySecs: maxWait };
}

function latestOf(id: string | null | undefined, maxWait: number | null | undefined): string | null {
  if (!id || typeof maxWait !== 'number') return null;
  return new Date(createdMsOf(id) + maxWait * 1000).toISOString();
}
