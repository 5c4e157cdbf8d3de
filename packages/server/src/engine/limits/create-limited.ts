import type { LimitInput } from '@millrace/contract';
import { idsWith } from '../../domain/ids.js';
import { couldAdmit, placeNew, type Room } from '../../domain/limits.js';
import type { JobSpec } from '../../domain/records.js';
import { boolArray, int4Array, int8Array, plainArray, textArray, uuidArray } from '../../store/arrays.js';
import type { Execute } from '../../store/connection/database.js';
import { listIn } from '../../store/rows.js';
import { loadStatements } from '../../store/sql.js';
import type { AdmittedJobs } from '../shared/admitted-jobs.js';
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
  /** Others, whom this let into their queues. */
  readonly letIn: readonly AdmittedJobs[];
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
  /** How many jobs name it; 0 if there is more to decide than whether it has room for all of them. */
  readonly count: number;
}

interface LockedRow {
  readonly running: number;
  /** What its row says: notes are not counted in there. */
  readonly counted: number;
  readonly most: number | null;
  readonly waiting: boolean;
  /** Somebody has yet to learn of another job that names it, or it is new: which job is the newest must be kept. */
  readonly named: boolean;
}

/** In JSON: an array per column, in the same order, and those ids of which something is true. */
type LimitsAnswer = Record<
  'ids' | 'counted' | 'mosts' | 'given_back' | 'rated' | 'waiting' | 'named' | 'absent' | 'missing',
  string | null
>;

/** Limits that this transaction holds, by id. */
interface HeldLimits {
  readonly rooms: ReadonlyMap<string, Room>;
  readonly rows: ReadonlyMap<string, LockedRow>;
  /** Those where all that name it have taken their room already. */
  readonly taken: ReadonlySet<string>;
  /** Who waited at them, and came in. */
  readonly letIn: readonly AdmittedJobs[];
}

const NO_LIMITS: HeldLimits = { rooms: new Map(), rows: new Map(), taken: new Set(), letIn: [] };

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
  const { prefix, admitted, news, letIn, watched } = await write(execute, writes, columnsOf(writes), areChildren);
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
    letIn,
    watched,
  };
}

interface WrittenRows {
  readonly prefix: string;
  readonly admitted: readonly boolean[];
  readonly news: LimitNews;
  readonly letIn: readonly AdmittedJobs[];
  readonly watched: boolean;
}

const NOTHING: WrittenRows = {
  ...{ prefix: '', admitted: [], news: { limits: [], slept: false }, letIn: [], watched: false },
};

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
  const since = performance.now();
  const held = await takeLimits(execute, [...named.values()]);
  const { rooms, taken } = held;
  const places = jobs.map(({ spec }, n) => {
    const ids = idsOf[n] ?? [];
    if (ids.length === 1 && taken.has(ids[0]!)) return null;
    return isDueAtOnce(spec) ? placeNew(ids, rooms) : (ids[0] ?? null);
  });
  const noted = [...named.values()].filter(({ id }) => {
    const room = rooms.get(id);
    return room === undefined ? !taken.has(id) : couldAdmit(room);
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
  const looks = { limits: notes.map(({ id }) => id), done: { limits: [...rooms.keys()], since }, soon: joined };
  const news = { ...looks, slept: joining.length > 0 };
  const admitted = places.map((place) => place === null);
  return { prefix: row?.prefix ?? '', admitted, news, letIn: held.letIn, watched: (row?.watched ?? 0) > 0 };
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
      const before = named.get(id);
      const isPlain = limits.length === 1 && !limit.rate && isDueAtOnce(job.spec) && hasSameNumbers(before, limit);
      named.set(id, { id, limit, job, count: isPlain ? (before?.count ?? 0) + 1 : 0 });
    });
  });
  return named;
}

const hasSameNumbers = (before: NamedLimit | undefined, { running }: LimitInput): boolean =>
  before === undefined || (before.count > 0 && before.limit.running === running);

/**
 * Those that nobody else holds, by id, with the numbers of the newest job. Limits with a rate are left to whoever looks
 * at their lines, which the note about them brings about: only there are tokens given out.
 */
async function takeLimits(execute: Execute, all: readonly NamedLimit[]): Promise<HeldLimits> {
  const named = all.filter(({ limit }) => typeof limit.running === 'number' && !limit.rate);
  if (named.length === 0) return NO_LIMITS;
  const [answer] = await execute<LimitsAnswer>(
    sql.take_limits({
      ids: uuidArray(named.map(({ id }) => id)),
      mosts: int4Array(named.map(({ limit }) => limit.running!)),
      counts: int4Array(named.map(({ count }) => count)),
    }),
  );
  if (answer === undefined) return NO_LIMITS;
  const rows = rowsOf(answer);
  const others = new Set([...listIn<string>(answer.ids), ...listIn<string>(answer.absent)]);
  const taken = new Set(named.flatMap(({ id }) => (others.has(id) ? [] : [id])));
  const missing = new Set(listIn<string>(answer.missing));
  const wanted = named.filter(({ id }) => missing.has(id));
  for (const { id, limit } of await makeLimits(execute, wanted)) rows.set(id, newRow(limit));
  const rooms = new Map<string, Room>();
  for (const { id, limit } of named) {
    const row = rows.get(id);
    if (row) rooms.set(id, { running: row.running, most: limit.running!, waiting: row.waiting });
  }
  return { rooms, rows, taken, letIn: await letInWaiting(execute, rooms) };
}

/** A create lets in about as many as it may create; the others are left to a look. */
const MOST_LET_IN = 1_000;

/**
 * Where there is room although somebody waits, he comes in first; or he has left already, and nobody has to join a
 * line. Returns who came in.
 */
async function letInWaiting(execute: Execute, rooms: ReadonlyMap<string, Room>): Promise<AdmittedJobs[]> {
  const open = [...rooms].filter(([, room]) => couldAdmit(room));
  if (open.length === 0) return [];
  const perLine = Math.ceil(MOST_LET_IN / open.length);
  const [row] = await execute<{ lines: string; admitted: string | null }>(
    sql.let_in({
      ids: uuidArray(open.map(([id]) => id)),
      rooms: int4Array(open.map(([, { running, most }]) => Math.min(most - running, perLine))),
    }),
  );
  for (const [id, cameIn, isLeft] of listIn<[string, number, boolean]>(row?.lines)) {
    const room = rooms.get(id)!;
    room.running += cameIn;
    room.waiting = isLeft;
  }
  return listIn<AdmittedJobs>(row?.admitted);
}

/** Without those that have a rate. */
function rowsOf(answer: LimitsAnswer): Map<string, LockedRow> {
  const [counted, mosts] = [listIn<number>(answer.counted), listIn<number>(answer.mosts)];
  const givenBack = listIn<number>(answer.given_back);
  const marked = (list: string | null): ReadonlySet<string> => new Set(listIn<string>(list));
  const [rated, waiting, named] = [marked(answer.rated), marked(answer.waiting), marked(answer.named)];
  const rows = new Map<string, LockedRow>();
  listIn<string>(answer.ids).forEach((id, n) => {
    if (rated.has(id)) return;
    const numbers = { running: counted[n]! - givenBack[n]!, counted: counted[n]!, most: mosts[n]! };
    rows.set(id, { ...numbers, waiting: waiting.has(id), named: named.has(id) });
  });
  return rows;
}

async function makeLimits(execute: Execute, wanted: readonly NamedLimit[]): Promise<NamedLimit[]> {
  if (wanted.length === 0) return [];
  const made = await execute<{ id: string }>(
    sql.make_limits({
      ids: uuidArray(wanted.map(({ id }) => id)),
      tenants: textArray(wanted.map(({ job }) => job.tenant)),
      queues: textArray(wanted.map(({ job }) => job.spec.queue)),
      keys: textArray(wanted.map(({ limit }) => limit.key)),
      mosts: int4Array(wanted.map(({ limit }) => limit.running!)),
    }),
  );
  const ids = new Set(made.map(({ id }) => id));
  return wanted.filter(({ id }) => ids.has(id));
}

const newRow = ({ running }: LimitInput): LockedRow => ({
  ...{ running: 0, counted: 0, most: running!, waiting: false, named: true },
});

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
