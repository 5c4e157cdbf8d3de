import type { LimitInput } from '@millrace/contract';
import { idsWith } from '../../domain/ids.js';
import { couldAdmit, placeNew, type Room } from '../../domain/limits.js';
import type { JobSpec } from '../../domain/records.js';
import { boolArray, int4Array, int8Array, plainArray, textArray, uuidArray } from '../../store/arrays.js';
import type { Execute } from '../../store/connection/database.js';
import { loadStatements } from '../../store/sql.js';
import type { LimitNews } from '../shared/hub.js';
import { limitIdsOf } from '../shared/limit-id.js';
import { expires, type LimitedJob } from './limited-job.js';
import { rememberExisting, resolveUnique, type Write } from './unique.js';

/**
 * Creates jobs that name limits, expire, are unique or have a parent, in a transaction of the caller: the limits are
 * locked, the rule decides which jobs are admitted, and all of it is written. A limit that somebody else holds is not
 * waited for: its jobs join the line, and a note tells whoever holds it next.
 */
const sql = loadStatements('limits/create.sql');

/** What is stored of jobs, whatever their limits: one array per column. */
export type JobColumns = Record<
  'tenants' | 'queues' | 'tasks' | 'priorities' | 'configs' | 'run_ats' | 'payloads' | 'metadata' | 'sizes' | 'delays',
  Buffer | string
>;

export interface CreatedLimited {
  /** Of the job that each of the given ones became. */
  readonly ids: readonly string[];
  /** Which of them created nothing: one of the same unique key was there. */
  readonly existing: readonly boolean[];
  readonly written: readonly Written[];
  readonly news: LimitNews;
  /** Somebody watches a job that was replaced. */
  readonly watched: boolean;
}

/** A job that was created, or replaced. */
export interface Written {
  readonly tenant: string;
  readonly spec: JobSpec;
  readonly isNew: boolean;
  /** It can be claimed once it is due. */
  readonly claimable: boolean;
}

interface NamedLimit {
  readonly id: string;
  readonly limit: LimitInput;
  /** The last job of the list that names it: its numbers count. */
  readonly job: LimitedJob;
}

interface LockedRow {
  readonly id: string;
  readonly running: number;
  /** What its row says: notes are not counted in there. */
  readonly counted: number;
  readonly most: number | null;
  readonly waiting: boolean;
  readonly rated: boolean;
  /** Somebody has yet to learn of another job that names it, or it is new: which job is the newest must be kept. */
  readonly named: boolean;
}

/** Limits that this transaction holds, by id. */
interface HeldLimits {
  readonly rooms: ReadonlyMap<string, Room>;
  readonly rows: ReadonlyMap<string, LockedRow>;
}

/** Takes the idempotency keys of jobs, and returns the suffixes of those whose key was free. */
export async function takeKeys(
  execute: Execute,
  jobs: readonly LimitedJob[],
  of: 'single jobs' | 'items',
): Promise<ReadonlySet<string>> {
  const rows = await execute<{ job_id: string }>(
    sql.take_keys({
      tenants: textArray(jobs.map(({ tenant }) => tenant)),
      keys: textArray(jobs.map(({ key }) => key)),
      suffixes: textArray(jobs.map(({ suffix }) => suffix)),
      digests: int8Array(jobs.map(({ digest }) => digest ?? null)),
      lasts: of === 'items' ? true : null,
    }),
  );
  return new Set(rows.map(({ job_id: id }) => id.slice(19).replace('-', '')));
}

/** `columnsOf`: see jobs/job-columns.ts. */
export async function createLimited(
  execute: Execute,
  jobs: readonly LimitedJob[],
  columnsOf: (jobs: readonly LimitedJob[]) => JobColumns,
  { areChildren = false }: { readonly areChildren?: boolean } = {},
): Promise<CreatedLimited> {
  const { writes, places, looks } = await resolveUnique(execute, jobs);
  const { prefix, admitted, news, watched } = await write(execute, writes, columnsOf(writes), areChildren);
  const toId = idsWith(prefix);
  const ids = places.map(({ write, id }) => {
    const written = write === null ? null : writes[write]!;
    return written === null ? id! : (written.replaces ?? toId(written.suffix));
  });
  const existing = places.map((place) => place.existing);
  await rememberExisting(
    execute,
    jobs.flatMap(({ tenant, key }, n) => (key !== null && existing[n]! ? [{ tenant, key, id: ids[n]! }] : [])),
  );
  return {
    ids,
    existing,
    written: writes.map(({ tenant, spec, replaces }, n) => ({
      ...{ tenant, spec, isNew: replaces === undefined, claimable: admitted[n]! },
    })),
    news: { ...news, limits: [...looks, ...news.limits] },
    watched,
  };
}

interface WrittenRows {
  readonly prefix: string;
  readonly admitted: readonly boolean[];
  readonly news: LimitNews;
  readonly watched: boolean;
}

const NOTHING: WrittenRows = { prefix: '', admitted: [], news: { limits: [], slept: false }, watched: false };

async function write(
  execute: Execute,
  jobs: readonly Write[],
  columns: JobColumns,
  areChildren: boolean,
): Promise<WrittenRows> {
  if (jobs.length === 0) return NOTHING;
  // Children are not bundled: whoever claims a job with an array, even an empty one, looks for its parent.
  const none = areChildren ? [] : null;
  const idsOf = jobs.map(({ tenant, spec }) => limitIdsOf(tenant, spec.queue, spec.config) ?? none);
  const named = namedBy(jobs, idsOf);
  const held = await takeLimits(execute, [...named.values()]);
  const { rooms } = held;
  const places = jobs.map(({ spec }, n) => {
    const ids = idsOf[n] ?? [];
    return isDueAtOnce(spec) ? placeNew(ids, rooms) : (ids[0] ?? null);
  });
  const noted = [...named.values()].filter(({ id }) => {
    const room = rooms.get(id);
    return room === undefined || couldAdmit(room);
  });
  // What has an instant is judged by the database's clock: it sleeps, or joins a line that must be looked at.
  const joining = jobs.flatMap((job, n) => {
    const id = isDueAtOnce(job.spec) ? null : places[n]!;
    return id === null ? [] : [{ id, job }];
  });
  const notes = [...noted, ...joining];
  const [row] = await execute<{ prefix: string; watched: number }>(
    sql.create_limited({
      ...columns,
      suffixes: textArray(jobs.map(({ suffix }) => suffix)),
      keys: textArray(jobs.map(({ key }) => key)),
      limits: textArray(idsOf.map(arrayText)),
      waits_for: uuidArray(places),
      latest: plainArray(jobs.some(({ latest }) => latest) ? jobs.map(({ latest = null }) => latest) : []),
      expire: jobs.some(({ spec }) => expires(spec)),
      ...limitColumns(held, named),
      noted_limits: uuidArray(notes.map(({ id }) => id)),
      noted_suffixes: textArray(notes.map(({ job }) => job.suffix)),
      noted_tenants: textArray(notes.map(({ job }) => job.tenant)),
    }),
  );
  const joined = [...rooms].flatMap(([id, { waiting }]) => (waiting && !held.rows.get(id)!.waiting ? [id] : []));
  const news = { limits: notes.map(({ id }) => id), slept: joining.length > 0, joined };
  const admitted = places.map((place) => place === null);
  return { prefix: row?.prefix ?? '', admitted, news, watched: (row?.watched ?? 0) > 0 };
}

const isDueAtOnce = ({ runAt, delaySecs }: JobSpec): boolean => runAt === null && delaySecs === null;

function namedBy(
  jobs: readonly LimitedJob[],
  idsOf: readonly (readonly string[] | null)[],
): ReadonlyMap<string, NamedLimit> {
  const named = new Map<string, NamedLimit>();
  jobs.forEach((job, n) => {
    const { limits } = job.spec.config ?? {};
    limits?.forEach((limit, place) => {
      const id = idsOf[n]![place]!;
      named.set(id, { id, limit, job });
    });
  });
  return named;
}

/**
 * Those that nobody else holds, by id, with the numbers of the newest job. Limits with a rate are left to whoever looks
 * at their lines, which the note about them brings about: only there are tokens given out.
 */
async function takeLimits(execute: Execute, all: readonly NamedLimit[]): Promise<HeldLimits> {
  const named = all.flatMap(({ id, limit, job }) =>
    typeof limit.running === 'number' && !limit.rate ? [{ id, key: limit.key, most: limit.running, job }] : [],
  );
  if (named.length === 0) return { rooms: new Map(), rows: new Map() };
  const rows = await execute<LockedRow>(
    sql.take_limits({
      ids: uuidArray(named.map(({ id }) => id)),
      tenants: textArray(named.map(({ job }) => job.tenant)),
      queues: textArray(named.map(({ job }) => job.spec.queue)),
      keys: textArray(named.map(({ key }) => key)),
      mosts: int4Array(named.map(({ most }) => most)),
    }),
  );
  const mosts = new Map(named.map(({ id, most }) => [id, most]));
  const plain = rows.filter(({ rated }) => !rated);
  return {
    rooms: new Map(plain.map(({ id, running, waiting }) => [id, { running, most: mosts.get(id)!, waiting }])),
    rows: new Map(plain.map((row) => [row.id, row])),
  };
}

/**
 * Where a limit is always full, most creates change nothing: their jobs join its line. Which job is the newest need not
 * be kept then, because its numbers are those of the row.
 */
function limitColumns({ rooms, rows }: HeldLimits, named: ReadonlyMap<string, NamedLimit>) {
  const changed = [...rooms].filter(([id, { running, most, waiting }]) => {
    const row = rows.get(id)!;
    return row.named || running !== row.counted || most !== row.most || waiting !== row.waiting;
  });
  return {
    limit_ids: uuidArray(changed.map(([id]) => id)),
    running: int4Array(changed.map(([, { running }]) => running)),
    mosts: int4Array(changed.map(([, { most }]) => most)),
    waiting: boolArray(changed.map(([, { waiting }]) => waiting)),
    newest_suffixes: textArray(changed.map(([id]) => named.get(id)!.job.suffix)),
  };
}

/** For statements that make jobs of steps: the ids of their limits, as arrays in text. Empty if none has any. */
export const limitsColumn = (limits: readonly (readonly string[] | null)[]): Buffer =>
  textArray(limits.some((ids) => ids !== null) ? limits.map(arrayText) : []);

/** As PostgreSQL writes an array of ids. */
export const arrayText = (ids: readonly string[] | null): string | null => ids && `{${ids.join()}}`;
