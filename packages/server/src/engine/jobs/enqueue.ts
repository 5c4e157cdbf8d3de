import { bucketOf, idSuffix, idsWith } from '../../domain/ids.js';
import { int4Array, jsonArray, plainArray, textArray } from '../../store/arrays.js';
import { Batcher } from '../../store/batcher.js';
import type { Database } from '../../store/database.js';
import { loadStatements } from '../../store/sql.js';
import type { Hub } from '../shared/hub.js';
import type { Counters } from '../shared/counters.js';
import { random32 } from '../shared/random.js';
import type { Tenants } from '../shared/tenants.js';
import type { JobSpec } from '../../domain/records.js';

/**
 * Creating jobs: one implementation over arrays. Single creates are gathered (group commit); a batch is one statement,
 * so it is all or nothing; keyed creates go through the key table and may return a job that another request created.
 */
const sql = loadStatements('enqueue.sql', ['create_jobs', 'create_alike', 'create_keyed_jobs', 'jobs_of_keys']);

export interface NewJob {
  readonly tenant: string;
  readonly spec: JobSpec;
}

export interface KeyedJob extends NewJob {
  readonly key: string;
}

const weigh = ({ spec }: NewJob): number => spec.payload.length + (spec.metadata?.length ?? 0);
/** A statement costs as much as a dozen jobs, so fewer and larger ones create more jobs in the same time. */
const BATCH = { maxItems: 1000, inFlight: 1, maxWaiting: 50_000, weigh };

export class Enqueuer {
  readonly #singles = new Batcher<NewJob, string>((jobs) => this.insert(jobs), BATCH);
  readonly #keyed = new Batcher<KeyedJob, string>((jobs) => this.#insertKeyed(jobs), BATCH);

  constructor(
    private readonly db: Database,
    private readonly hub: Hub,
    private readonly counters: Counters,
    private readonly tenants: Tenants,
  ) {}

  async create(tenant: string, spec: JobSpec, key: string | null): Promise<string> {
    await this.tenants.register(tenant);
    return key === null ? this.#singles.submit({ tenant, spec }) : this.#keyed.submit({ tenant, spec, key });
  }

  async createBatch(tenant: string, specs: readonly JobSpec[]): Promise<string[]> {
    await this.tenants.register(tenant);
    return this.insert(specs.map((spec) => ({ tenant, spec })));
  }

  /** The tenants must be registered. Ids come back in the order of the jobs. */
  async insert(jobs: readonly NewJob[]): Promise<string[]> {
    const suffixes = suffixesFor(jobs);
    const [row] = areAlike(jobs)
      ? await this.db.run<{ prefix: string }>(sql.create_alike, alikeColumns(suffixes, jobs))
      : await this.db.run<{ prefix: string }>(sql.create_jobs, columns(suffixes, jobs));
    this.#created(jobs);
    return suffixes.map(idsWith(row?.prefix ?? ''));
  }

  async #insertKeyed(jobs: readonly KeyedJob[]): Promise<string[]> {
    const suffixes = suffixesFor(jobs);
    const values = [...columns(suffixes, jobs), textArray(jobs.map((job) => job.key))];
    const won = await this.db.run<{ job_id: string }>(sql.create_keyed_jobs, values);
    const idBySuffix = new Map(won.map(({ job_id }) => [suffixOf(job_id), job_id]));
    this.#created(jobs.filter((_, index) => idBySuffix.has(suffixes[index] ?? '')));
    const ids = suffixes.map((suffix) => idBySuffix.get(suffix) ?? null);
    return ids.includes(null) ? this.#resolveLosers(jobs, ids) : (ids as string[]);
  }

  /**
   * A key that was taken and is no longer there belonged to a job that retention has just removed. The key is free now,
   * so we try again.
   */
  async #resolveLosers(jobs: readonly KeyedJob[], ids: (string | null)[]): Promise<string[]> {
    const losers = jobs.flatMap((job, index) => (ids[index] === null ? [{ job, index }] : []));
    const found = await this.db.run<{ ordinal: string; job_id: string }>(sql.jobs_of_keys, [
      textArray(losers.map(({ job }) => job.tenant)),
      textArray(losers.map(({ job }) => job.key)),
    ]);
    for (const { ordinal, job_id } of found) {
      const loser = losers[Number(ordinal) - 1];
      if (loser) ids[loser.index] = job_id;
    }
    const gone = losers.filter(({ index }) => ids[index] === null);
    if (gone.length > 0) {
      const again = await this.#insertKeyed(gone.map(({ job }) => job));
      gone.forEach(({ index }, n) => (ids[index] = again[n] ?? null));
    }
    return ids as string[];
  }

  #created(jobs: readonly NewJob[]): void {
    const announced = new Set<string>();
    for (const { tenant, spec } of jobs) {
      this.counters.created({ tenant, queue: spec.queue, task: spec.task });
      const priority = spec.config?.priority ?? 0;
      const queueAndPriority = `${priority} ${spec.queue}`;
      if (spec.runAt === null && announced.has(queueAndPriority)) continue;
      announced.add(queueAndPriority);
      this.hub.announceWork(spec.queue, priority, spec.runAt === null ? null : Date.parse(spec.runAt));
    }
  }
}

function suffixesFor(jobs: readonly NewJob[]): string[] {
  let tenant: string | null = null;
  let bucket = 0;
  return jobs.map((job, position) => {
    if (job.tenant !== tenant) [tenant, bucket] = [job.tenant, bucketOf(job.tenant)];
    return idSuffix(position, bucket, random32());
  });
}

const suffixOf = (id: string): string => id.slice(19).replace('-', '');

type Jobs = readonly [NewJob, ...NewJob[]];

/** Whether they differ only in their payloads, and are due at once. */
function areAlike(jobs: readonly NewJob[]): jobs is Jobs {
  const [first] = jobs;
  return (
    first !== undefined &&
    jobs.every((job) => job.spec.runAt === null && job.spec.metadata === null && isAlike(first, job))
  );
}

const configText = ({ config }: JobSpec): string | null => (config === null ? null : JSON.stringify(config));

function alikeColumns(suffixes: readonly string[], jobs: Jobs): unknown[] {
  const { tenant, spec } = jobs[0];
  const payloads = jsonArray(jobs.map((job) => job.spec.payload));
  const priority = spec.config?.priority ?? 0;
  return [tenant, spec.queue, spec.task, priority, configText(spec), textArray(suffixes), payloads, sizes(jobs)];
}

function columns(suffixes: readonly string[], jobs: readonly NewJob[]): unknown[] {
  const { kinds, kindOf } = kindsOf(jobs);
  const runAt = jobs.some(({ spec }) => spec.runAt !== null) ? jobs.map(({ spec }) => spec.runAt) : [];
  const metadata = jobs.some(({ spec }) => spec.metadata !== null) ? jobs.map(({ spec }) => spec.metadata) : [];
  return [
    textArray(kinds.map((kind) => kind.tenant)),
    textArray(kinds.map(({ spec }) => spec.queue)),
    textArray(kinds.map(({ spec }) => spec.task)),
    int4Array(kinds.map(({ spec }) => spec.config?.priority ?? 0)),
    jsonArray(kinds.map(({ spec }) => configText(spec))),
    textArray(suffixes),
    int4Array(kindOf),
    plainArray(runAt),
    jsonArray(jobs.map(({ spec }) => spec.payload)),
    jsonArray(metadata),
    sizes(jobs),
  ];
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

/**
 * One job of each kind, and for every job the number of its kind, from 1. Jobs of one kind tend to come one after
 * another.
 */
function kindsOf(jobs: readonly NewJob[]): { readonly kinds: readonly NewJob[]; readonly kindOf: readonly number[] } {
  const kinds: NewJob[] = [];
  const numbers = new Map<string, number>();
  let last: NewJob | null = null;
  let number = 0;
  const kindOf = jobs.map((job) => {
    if (last !== null && isAlike(last, job)) return number;
    last = job;
    const { queue, task, config } = job.spec;
    const kind = JSON.stringify([job.tenant, queue, task, config]);
    number = numbers.get(kind) ?? kinds.push(job);
    numbers.set(kind, number);
    return number;
  });
  return { kinds, kindOf };
}

const isAlike = (a: NewJob, b: NewJob): boolean =>
  a.tenant === b.tenant &&
  a.spec.queue === b.spec.queue &&
  a.spec.task === b.spec.task &&
  a.spec.config === b.spec.config;
