import { bucketOf, createdMsOf, idSuffix, idsWith } from '../../domain/ids.js';
import { int4Array, jsonArray, plainArray, textArray } from '../../store/arrays.js';
import { Batcher } from '../../store/batcher.js';
import type { Database, Execute } from '../../store/connection/database.js';
import { isTaken } from '../../store/failures.js';
import { loadStatements, type Statement } from '../../store/sql.js';
import type { Hub } from '../shared/hub.js';
import type { Counters } from '../shared/counters.js';
import { otherKind, type Done, type Effect, type Idempotency } from '../shared/idempotency.js';
import { random32 } from '../shared/random.js';
import type { Tenants } from '../shared/tenants.js';
import type { JobSpec } from '../../domain/records.js';
import type { Created } from '../api.js';

/**
 * Creating jobs: one implementation over arrays. Single creates are gathered (group commit); a batch is one statement,
 * so it is all or nothing; keyed creates go through the key table and may return a job that another request created. A
 * key for several jobs, or for a copy of one, takes a transaction of its own (shared/idempotency.ts).
 */
const sql = loadStatements('jobs/enqueue.sql');

export interface NewJob {
  readonly tenant: string;
  readonly spec: JobSpec;
}

export interface KeyedJob extends NewJob {
  readonly key: string;
}

interface KeyedRow {
  readonly prefix: string;
  /** The ids that were stored, as PostgreSQL writes an array; null: all of them. */
  readonly created: string | null;
}

const weigh = ({ spec }: NewJob): number => spec.payload.length + (spec.metadata?.length ?? 0);
/** A statement costs as much as a dozen jobs, so fewer and larger ones create more jobs in the same time. */
const BATCH = { maxItems: 1000, inFlight: 1, maxWaiting: 50_000, weigh };

/** How long after a key that had been used. */
const LOOK_MS = 60_000;

export class Enqueuer {
  readonly #singles = new Batcher<NewJob, string>((jobs) => this.#insert(jobs), BATCH);
  /** Null: the key belongs to another kind of request. */
  readonly #keyed = new Batcher<KeyedJob, Created | null>((jobs) => this.#insertKeyed(jobs), BATCH);

  /** Until then keys are looked for before they are inserted. */
  #looksUntil = -Infinity;

  constructor(
    private readonly db: Database,
    private readonly hub: Hub,
    private readonly counters: Counters,
    private readonly tenants: Tenants,
    private readonly keys: Idempotency,
  ) {}

  async create(tenant: string, spec: JobSpec, key: string | null): Promise<Created> {
    await this.tenants.register(tenant);
    if (key === null) return { id: await this.#singles.submit({ tenant, spec }), replayed: false };
    const created = await this.#keyed.submit({ tenant, spec, key });
    if (created === null) throw otherKind();
    return created;
  }

  async createBatch(tenant: string, specs: readonly JobSpec[], key: string | null): Promise<Done> {
    await this.tenants.register(tenant);
    return this.createOnce(tenant, key, 'batch', () => Promise.resolve(specs));
  }

  /** Creates what `specsOf` says, once for a key of that kind. The tenant must be registered. */
  createOnce(
    tenant: string,
    key: string | null,
    kind: string,
    specsOf: (execute: Execute) => Promise<readonly JobSpec[]>,
  ): Promise<Done> {
    return this.keys.once(key === null ? null : { tenant, key, kind }, async (execute): Promise<Effect> => {
      const jobs = (await specsOf(execute)).map((spec) => ({ tenant, spec }));
      const ids = await store(execute, jobs);
      return { ids, committed: () => this.#created(jobs, ids[0]) };
    });
  }

  async #insert(jobs: readonly NewJob[]): Promise<string[]> {
    const ids = await store(this.db.run, jobs);
    this.#created(jobs, ids[0]);
    return ids;
  }

  async #insertKeyed(jobs: readonly KeyedJob[]): Promise<(Created | null)[]> {
    const suffixes = suffixesFor(jobs);
    const { prefix, created } = await this.#storeKeyed(suffixes, jobs);
    const ids = suffixes.map(idsWith(prefix));
    if (created === null) {
      this.#created(jobs, ids[0]);
      return ids.map((id) => ({ id, replayed: false }));
    }
    const won = ids.map((id) => created.includes(id));
    this.#created(
      jobs.filter((_, index) => won[index]),
      ids[0],
    );
    return this.#resolveLosers(
      jobs,
      ids.map((id, index) => (won[index] ? { id, replayed: false } : null)),
    );
  }

  /**
   * Clients that make up a key for each request seldom repeat one, so we first do without looking. A key that was taken
   * then costs a failed statement; after that we look for a while, so that nobody can make us fail again and again.
   */
  async #storeKeyed(suffixes: readonly string[], jobs: readonly KeyedJob[]): Promise<KeyedRow> {
    const keys = textArray(jobs.map((job) => job.key));
    const run = async (statement: Statement): Promise<KeyedRow> => (await this.db.run<KeyedRow>(statement))[0]!;
    if (areAlike(jobs) && performance.now() >= this.#looksUntil) {
      try {
        return await run(sql.create_fresh_alike({ keys, ...alikeColumns(suffixes, jobs) }));
      } catch (error) {
        if (!isTaken(error)) throw error;
        this.#looksUntil = performance.now() + LOOK_MS;
      }
    }
    return run(sql.create_keyed_jobs({ keys, ...columns(suffixes, jobs, kindsOf(jobs)) }));
  }

  /**
   * A key that was taken and is no longer there belonged to a job that retention has just removed. The key is free now,
   * so we try again.
   */
  async #resolveLosers(jobs: readonly KeyedJob[], created: (Created | null)[]): Promise<(Created | null)[]> {
    const losers = jobs.flatMap((job, index) => (created[index] === null ? [{ job, index }] : []));
    const rows = await this.db.run<{ ordinal: string; job_id: string; kind: string | null }>(
      sql.jobs_of_keys({
        tenants: textArray(losers.map(({ job }) => job.tenant)),
        keys: textArray(losers.map(({ job }) => job.key)),
      }),
    );
    const found = new Map(rows.map((row) => [Number(row.ordinal) - 1, row]));
    for (const [n, { job_id: id, kind }] of found) {
      if (kind === null) created[losers[n]!.index] = { id, replayed: true };
    }
    const gone = losers.filter((_, n) => !found.has(n));
    if (gone.length > 0) {
      const again = await this.#insertKeyed(gone.map(({ job }) => job));
      gone.forEach(({ index }, n) => (created[index] = again[n] ?? null));
    }
    return created;
  }

  /** `id`: of any of them; it tells the database's time. */
  #created(jobs: readonly NewJob[], id: string | undefined): void {
    const announced = new Set<string>();
    for (const { tenant, spec } of jobs) {
      this.counters.created({ tenant, queue: spec.queue, task: spec.task });
      const priority = spec.config?.priority ?? 0;
      const queueAndPriority = `${priority} ${spec.queue}`;
      const dueMs = dueOf(spec, id ?? '');
      if (dueMs === null && announced.has(queueAndPriority)) continue;
      announced.add(queueAndPriority);
      this.hub.announceWork(spec.queue, priority, dueMs);
    }
  }
}

/** The tenants must be registered. Ids come back in the order of the jobs. */
async function store(execute: Execute, jobs: readonly NewJob[]): Promise<string[]> {
  const suffixes = suffixesFor(jobs);
  const [row] = await execute<{ prefix: string }>(insertOf(suffixes, jobs));
  return suffixes.map(idsWith(row?.prefix ?? ''));
}

function insertOf(suffixes: readonly string[], jobs: readonly NewJob[]): Statement {
  if (areAlike(jobs)) return sql.create_alike(alikeColumns(suffixes, jobs));
  const kinds = kindsOf(jobs, MANY_KINDS);
  if (kinds !== null) return sql.create_jobs(columns(suffixes, jobs, kinds));
  return sql.create_varied({ suffixes: textArray(suffixes), ...kindColumns(jobs), ...ownColumns(jobs) });
}

/** When it is due, by the clock that made the id; null: at once. */
function dueOf({ runAt, delaySecs }: JobSpec, id: string): number | null {
  if (runAt !== null) return Date.parse(runAt);
  return delaySecs === null ? null : createdMsOf(id) + 1000 * delaySecs;
}

function suffixesFor(jobs: readonly NewJob[]): string[] {
  let tenant: string | null = null;
  let bucket = 0;
  return jobs.map((job, position) => {
    if (job.tenant !== tenant) [tenant, bucket] = [job.tenant, bucketOf(job.tenant)];
    return idSuffix(position, bucket, random32());
  });
}

type Jobs = readonly [NewJob, ...NewJob[]];

/** Whether they differ only in their payloads, and are due at once. */
function areAlike(jobs: readonly NewJob[]): jobs is Jobs {
  const [first] = jobs;
  return (
    first !== undefined &&
    jobs.every(({ spec }, n) => isDueAtOnce(spec) && spec.metadata === null && isAlike(first, jobs[n]!))
  );
}

const isDueAtOnce = ({ runAt, delaySecs }: JobSpec): boolean => runAt === null && delaySecs === null;

const configText = ({ config }: JobSpec): string | null => (config === null ? null : JSON.stringify(config));

function alikeColumns(suffixes: readonly string[], jobs: Jobs) {
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

const columns = (suffixes: readonly string[], jobs: readonly NewJob[], { kinds, kindOf }: Kinds) => ({
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
function kindsOf(jobs: readonly NewJob[]): Kinds;
function kindsOf(jobs: readonly NewJob[], most: number): Kinds | null;
function kindsOf(jobs: readonly NewJob[], most = Infinity): Kinds | null {
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
