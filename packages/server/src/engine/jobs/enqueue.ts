import { createdMsOf, idsWith } from '../../domain/ids.js';
import { textArray } from '../../store/arrays.js';
import { Batcher } from '../../store/batcher.js';
import type { Database, Execute } from '../../store/connection/database.js';
import { isTaken } from '../../store/failures.js';
import { loadStatements, type Statement } from '../../store/sql.js';
import { createLimited, takeKeys, type CreatedLimited } from '../limits/create-limited.js';
import { isLimited, type LimitedJob } from '../limits/limited-job.js';
import { announceAdmitted } from '../shared/admitted-jobs.js';
import type { Hub } from '../shared/hub.js';
import type { Counters } from '../shared/counters.js';
import { differs, otherKind, type Effect, type Idempotency, type KeyUse } from '../shared/idempotency.js';
import type { Tenants } from '../shared/tenants.js';
import type { JobSpec } from '../../domain/records.js';
import type { BatchItem, Created, CreatedBatch, CreatedItems, CreateKey } from '../api.js';
import {
  alikeColumns,
  areAlike,
  columns,
  insertOf,
  keyColumns,
  kindsOf,
  limitedColumns,
  suffixesFor,
  type NewJob,
} from './job-columns.js';
import { KeyedItems, type WinnerRow } from './keyed-items.js';

/**
 * Creating jobs: one implementation over arrays. Single creates are gathered (group commit); a batch is one statement,
 * so it is all or nothing; keyed creates go through the key table and may return a job that another request created. A
 * key for several jobs, or for a copy of one, takes a transaction of its own (shared/idempotency.ts); so do the keys of
 * a batch's items where one was taken (keyed-items.ts). Jobs that name limits, expire or are unique are gathered apart,
 * and created in a transaction (limits/create-limited.ts).
 */
const sql = loadStatements('jobs/enqueue.sql');

export interface KeyedJob extends NewJob {
  readonly key: string;
  readonly digest: number;
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

  readonly #limited = new Batcher<LimitedRequest, Created | null>((jobs) => this.#insertLimited(jobs), BATCH);
  readonly #items: KeyedItems;

  /** Until then keys are looked for before they are inserted. */
  #looksUntil = -Infinity;

  constructor(
    private readonly db: Database,
    private readonly hub: Hub,
    private readonly counters: Counters,
    private readonly tenants: Tenants,
    private readonly keys: Idempotency,
  ) {
    this.#items = new KeyedItems(db);
  }

  async create(tenant: string, spec: JobSpec, key: CreateKey | null): Promise<Created> {
    await this.tenants.register(tenant);
    if (isLimited(spec)) {
      const created = await this.#limited.submit({ tenant, spec, key: null, ...key });
      if (created === null) throw otherKind();
      return created;
    }
    if (key === null) return { id: await this.#singles.submit({ tenant, spec }), replayed: false };
    const created = await this.#keyed.submit({ tenant, spec, ...key });
    if (created === null) throw otherKind();
    return created;
  }

  async createBatch(tenant: string, specs: readonly JobSpec[], key: CreateKey | null): Promise<CreatedBatch> {
    await this.tenants.register(tenant);
    return this.createOnce(key && { tenant, ...key, kind: 'batch' }, tenant, () => Promise.resolve(specs));
  }

  async createItems(tenant: string, items: readonly BatchItem[]): Promise<CreatedItems> {
    await this.tenants.register(tenant);
    const { plain, limited, ...answer } = await this.#items.store(tenant, items);
    if (plain.length > 0) this.#created(plain, answer.ids[0]);
    for (const created of limited) this.#createdLimited(created);
    return answer;
  }

  /**
   * Creates what `specsOf` says, once for the key. The tenant must be registered. What `then` does with the
   * new jobs happens in the same transaction.
   */
  async createOnce(
    use: KeyUse | null,
    tenant: string,
    specsOf: (execute: Execute) => Promise<readonly JobSpec[]>,
    then: ((execute: Execute, ids: readonly string[]) => Promise<void>) | null = null,
  ): Promise<CreatedBatch> {
    let existing: readonly number[] = [];
    const effect = async (execute: Execute): Promise<Effect> => {
      const jobs = (await specsOf(execute)).map((spec) => ({ tenant, spec }));
      const needsTransaction = use === null && then === null && jobs.some(({ spec }) => isLimited(spec));
      const stored = needsTransaction
        ? await this.db.transaction((inside) => store(inside, jobs))
        : await store(execute, jobs);
      await then?.(execute, stored.ids);
      existing = stored.existing;
      const committed = (): void => {
        if (stored.plain.length > 0) this.#created(stored.plain, stored.ids[0]);
        if (stored.limited) this.#createdLimited(stored.limited);
      };
      return { ids: stored.ids, committed };
    };
    const done = await this.keys.once(use, effect, { together: then !== null });
    return { ...done, existing: done.replayed ? [] : existing };
  }

  /** Creates jobs that have a parent, in a transaction of the caller. */
  async createChildren(execute: Execute, tenant: string, specs: readonly JobSpec[]): Promise<Effect> {
    const jobs = specs.map((spec) => ({ tenant, spec }));
    const suffixes = suffixesFor(jobs, true);
    const marked = jobs.map((job, n): LimitedJob => ({ ...job, suffix: suffixes[n]!, key: null }));
    const created = await createLimited(execute, marked, limitedColumns, { areChildren: true });
    return { ids: created.ids, committed: () => this.#createdLimited(created) };
  }

  async #insert(jobs: readonly NewJob[]): Promise<readonly string[]> {
    const { ids } = await storePlain(this.db.run, jobs, suffixesFor(jobs));
    this.#created(jobs, ids[0]);
    return ids;
  }

  /** A key that is taken costs its job nothing: keys are taken before anything else. */
  async #insertLimited(requests: readonly LimitedRequest[]): Promise<(Created | null)[]> {
    const suffixes = suffixesFor(requests);
    const jobs = requests.map((request, n): LimitedJob => ({ ...request, suffix: suffixes[n]! }));
    const { fresh, created } = await this.db.transaction(async (execute) => {
      const keyed = jobs.filter(({ key }) => key !== null);
      const free = keyed.length === 0 ? new Set<string>() : await takeKeys(execute, keyed, 'single jobs');
      const fresh = jobs.filter(({ key, suffix }) => key === null || free.has(suffix));
      return { fresh, created: await createLimited(execute, fresh, limitedColumns) };
    });
    this.#createdLimited(created);
    const places = new Map(fresh.map((job, n) => [job, n]));
    const answers = jobs.map((job): Created | null => {
      const n = places.get(job);
      return n === undefined ? null : { id: created.ids[n]!, replayed: false, existing: created.existing[n]! };
    });
    return fresh.length === jobs.length ? answers : this.#resolveLosers(jobs.map(toKeyed), answers);
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
    const keys = keyColumns(jobs);
    const run = async (statement: Statement): Promise<KeyedRow> => (await this.db.run<KeyedRow>(statement))[0]!;
    if (areAlike(jobs) && performance.now() >= this.#looksUntil) {
      try {
        return await run(sql.create_fresh_alike({ ...keys, ...alikeColumns(suffixes, jobs) }));
      } catch (error) {
        if (!isTaken(error)) throw error;
        this.#looksUntil = performance.now() + LOOK_MS;
      }
    }
    return run(sql.create_keyed_jobs({ ...keys, ...columns(suffixes, jobs, kindsOf(jobs)) }));
  }

  /**
   * A key that was taken and is no longer there belonged to a job that retention has just removed. The key is free now,
   * so we try again.
   */
  async #resolveLosers(jobs: readonly KeyedJob[], created: (Created | null)[]): Promise<(Created | null)[]> {
    const losers = jobs.flatMap((job, index) => (created[index] === null ? [{ job, index }] : []));
    const rows = await this.db.run<WinnerRow>(
      sql.jobs_of_keys({
        tenants: textArray(losers.map(({ job }) => job.tenant)),
        keys: textArray(losers.map(({ job }) => job.key)),
      }),
    );
    const found = new Map(rows.map((row) => [Number(row.ordinal) - 1, row]));
    for (const [n, { job_id: id, kind, digest }] of found) {
      const { job, index } = losers[n]!;
      if (kind === null) created[index] = { id, replayed: true, mismatch: differs(digest, job.digest) };
    }
    const gone = losers.filter((_, n) => !found.has(n));
    if (gone.length > 0) {
      const again = await this.#insertAgain(gone.map(({ job }) => job));
      gone.forEach(({ index }, n) => (created[index] = again[n] ?? null));
    }
    return created;
  }

  #insertAgain(jobs: readonly KeyedJob[]): Promise<(Created | null)[]> {
    return jobs.some(({ spec }) => isLimited(spec)) ? this.#insertLimited(jobs) : this.#insertKeyed(jobs);
  }

  #createdLimited({ written, news, letIn, watched, ids }: CreatedLimited): void {
    this.hub.announceLimits(news);
    announceAdmitted(this.hub, this.counters.metrics, letIn);
    if (watched) this.hub.announceEvents();
    for (const { tenant, spec, isNew } of written)
      if (isNew) this.counters.created({ tenant, queue: spec.queue, task: spec.task });
    this.#announce(
      written.filter(({ claimable }) => claimable),
      ids[0],
    );
  }

  #created(jobs: readonly NewJob[], id: string | undefined): void {
    for (const { tenant, spec } of jobs) this.counters.created({ tenant, queue: spec.queue, task: spec.task });
    this.#announce(jobs, id);
  }

  /** Jobs that can be claimed once they are due. `id`: of any of them; it tells when they were created. */
  #announce(jobs: readonly NewJob[], id: string | undefined): void {
    const announced = new Set<string>();
    for (const { spec } of jobs) {
      const priority = spec.config?.priority ?? 0;
      const queueAndPriority = `${priority} ${spec.queue}`;
      const dueMs = dueOf(spec, id ?? '');
      if (dueMs === null && announced.has(queueAndPriority)) continue;
      announced.add(queueAndPriority);
      this.hub.announceWork(spec.queue, priority, dueMs);
    }
  }
}

interface LimitedRequest extends NewJob {
  readonly key: string | null;
  readonly digest?: number;
}

const toKeyed = ({ tenant, spec, key, digest = 0 }: LimitedRequest): KeyedJob => ({
  ...{ tenant, spec, key: key ?? '', digest },
});

/** Ids are in the order of the jobs. */
interface Stored {
  readonly ids: readonly string[];
  /** The positions of those that created nothing. */
  readonly existing: readonly number[];
  readonly plain: readonly NewJob[];
  readonly limited: CreatedLimited | null;
}

/** The tenants must be registered. If any of the jobs has limits, `execute` must be that of a transaction. */
async function store(execute: Execute, jobs: readonly NewJob[]): Promise<Stored> {
  const suffixes = suffixesFor(jobs);
  const limited = jobs.flatMap(({ tenant, spec }, n) =>
    isLimited(spec) ? [{ tenant, spec, suffix: suffixes[n]!, key: null }] : [],
  );
  if (limited.length === 0) return storePlain(execute, jobs, suffixes);
  const created = await createLimited(execute, limited, limitedColumns);
  const plain = jobs.flatMap((job, n) => (isLimited(job.spec) ? [] : [{ job, suffix: suffixes[n]! }]));
  const plainJobs = plain.map(({ job }) => job);
  const theirs = plain.map(({ suffix }) => suffix);
  const others = plain.length === 0 ? [] : (await storePlain(execute, plainJobs, theirs)).ids;
  let [k, m] = [0, 0];
  const ids = jobs.map(({ spec }) => (isLimited(spec) ? created.ids[k++]! : others[m++]!));
  k = 0;
  const existing = jobs.flatMap(({ spec }, n) => (isLimited(spec) && created.existing[k++]! ? [n] : []));
  return { ids, existing, plain: plainJobs, limited: created };
}

async function storePlain(execute: Execute, jobs: readonly NewJob[], suffixes: readonly string[]): Promise<Stored> {
  const [row] = await execute<{ prefix: string }>(insertOf(suffixes, jobs));
  return { ids: suffixes.map(idsWith(row?.prefix ?? '')), existing: [], plain: jobs, limited: null };
}

/** When it is due, by the clock that made the id; null: at once. */
function dueOf({ runAt, delaySecs }: JobSpec, id: string): number | null {
  if (runAt !== null) return Date.parse(runAt);
  return delaySecs === null ? null : createdMsOf(id) + 1000 * delaySecs;
}
