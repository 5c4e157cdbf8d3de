import type { JobStatus } from '@millrace/contract';
import { asRefusal, isUnavailable, leaseLost, MillraceError, notFound } from '../../domain/errors.js';
import { bucketOfId, isUuid } from '../../domain/ids.js';
import { isTerminal } from '../../domain/job-state.js';
import { int4Array, uuidArray } from '../../store/arrays.js';
import { Batcher } from '../../store/batcher.js';
import type { Database } from '../../store/connection/database.js';
import { loadStatements } from '../../store/sql.js';
import type { Beat, LeaseKeeper } from '../leases/lease-keeper.js';
import type { LeaseKey } from '../leases/lease-key.js';
import type { LongPolls } from '../leases/long-poll.js';
import type { Counters } from '../shared/counters.js';
import type { Hub } from '../shared/hub.js';
import type { Completion, Settler } from '../outcomes/settle.js';
import type { Checkpoints } from '../durable/checkpoints.js';
import type { Children } from '../durable/children.js';
import type { Suspender } from '../durable/suspender.js';
import type { ChildSpec, JsonText, LeasedJob, Suspension } from '../../domain/records.js';
import type {
  FailureReport,
  Heartbeat,
  JobReport,
  LeaseRequest,
  NewLogs,
  StandingCheckpoint,
  WorkerApi,
} from '../api.js';
import type { Logs } from './logs.js';

/**
 * The protocol of remote workers. It uses the same claims and settlements as the pool, and calls for many jobs go
 * through the same batches as calls for one.
 */
const sql = loadStatements('jobs/reports.sql');

const BATCH = { maxItems: 1000, inFlight: 2, maxWaiting: 100_000 };
/** Progress that comes faster than this is told to streams together. */
const PROGRESS_MS = 100;

type Operation = 'heartbeat' | 'complete' | 'fail' | 'release' | 'checkpoint' | 'suspend' | 'children';

export interface RemoteWorkerParts {
  readonly db: Database;
  readonly hub: Hub;
  readonly keeper: LeaseKeeper;
  readonly polls: LongPolls;
  readonly settler: Settler;
  readonly counters: Counters;
  readonly checkpoints: Checkpoints;
  readonly suspender: Suspender;
  readonly children: Children;
  readonly logs: Logs;
}

export class RemoteWorker implements WorkerApi {
  readonly #beats = new Batcher<Beat, boolean>((beats) => this.#extend(beats), {
    ...BATCH,
    weigh: ({ progress }) => progress?.length ?? 0,
  });
  readonly #statuses = new Batcher<string, JobStatus | null>((ids) => this.#readStatuses(ids), BATCH);
  #announced = -Infinity;
  #announcing: NodeJS.Timeout | null = null;

  constructor(private readonly parts: RemoteWorkerParts) {}

  lease(request: LeaseRequest, signal: AbortSignal): Promise<readonly LeasedJob[]> {
    return this.parts.polls.lease(request, signal);
  }

  async heartbeat({ id, token, extendSecs, progress, logs }: Heartbeat): Promise<JobStatus> {
    const lease = leaseOf(id, token);
    const keeping = this.#keepLogs(lease, logs);
    const beat = lease && this.#beats.submit({ id: lease.id, token: lease.token, extendSecs, progress });
    const [extended] = await Promise.all([beat, keeping]);
    if (extended) return 'running';
    const status = await this.#statusOf(id);
    if (isTerminal(status)) return status;
    throw this.#lost('heartbeat');
  }

  heartbeats(beats: readonly Heartbeat[]): Promise<(JobStatus | MillraceError)[]> {
    return inTurns(beats, (turn) => Promise.all(turn.map((beat) => this.heartbeat(beat).catch(asRefusal))));
  }

  async complete(id: string, token: string, result: JsonText, logs: NewLogs = null): Promise<void> {
    const lease = leaseOf(id, token);
    await this.#keepLogs(lease, logs);
    if (lease && (await this.parts.settler.complete({ id: lease.id, token: lease.token, result }))) return;
    await this.#tooLate(id, 'complete');
  }

  async fail(id: string, token: string, error: string, retryable: boolean, more: FailureReport = {}): Promise<void> {
    const { settler } = this.parts;
    const lease = leaseOf(id, token);
    await this.#keepLogs(lease, more.logs ?? null);
    const facts = lease && (await settler.leaseFacts(lease.id, lease.token));
    if (facts && (await settler.fail({ ...lease, error, retryable, ...more, ...facts }))) return;
    await this.#tooLate(id, 'fail');
  }

  async release(id: string, token: string, delaySecs: number | null, logs: NewLogs = null): Promise<void> {
    const lease = leaseOf(id, token);
    await this.#keepLogs(lease, logs);
    if (lease && (await this.parts.settler.release(lease.id, lease.token, delaySecs))) return;
    await this.#tooLate(id, 'release');
  }

  async checkpoint(id: string, token: string, name: string, value: JsonText): Promise<StandingCheckpoint> {
    const lease = leaseOf(id, token);
    const standing = lease && (await this.parts.checkpoints.store({ ...lease, name, value }));
    if (standing) return standing;
    await this.#statusOf(id);
    throw this.#lost('checkpoint');
  }

  async children(id: string, token: string, children: readonly ChildSpec[]): Promise<readonly string[]> {
    const lease = leaseOf(id, token);
    const ids = lease && (await this.parts.children.create(lease, children));
    if (ids) return ids;
    await this.#statusOf(id);
    throw this.#lost('children');
  }

  async suspend(id: string, token: string, suspension: Suspension, logs: NewLogs = null): Promise<void> {
    const lease = leaseOf(id, token);
    await this.#keepLogs(lease, logs);
    if (lease && (await this.parts.suspender.suspend(lease, suspension))) return;
    await this.#tooLate(id, 'suspend');
  }

  report(reports: readonly JobReport[]): Promise<(MillraceError | null)[]> {
    return inTurns(reports, (turn) => this.#reportTurn(turn));
  }

  async queuesOf(ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const asked = [...new Set(ids.filter(isUuid).map((id) => id.toLowerCase()))];
    if (asked.length === 0) return new Map();
    const values = { ids: uuidArray(asked), buckets: int4Array(asked.map(bucketOfId)) };
    const rows = await this.parts.db.run<{ id: string; queue: string }>(sql.queues_of(values));
    return new Map(rows.map(({ id, queue }) => [id, queue]));
  }

  /** Before the report itself, which ends the lease. */
  async #keepLogs(lease: LeaseKey | null, lines: NewLogs): Promise<void> {
    if (lease && lines !== null) await this.parts.logs.append({ ...lease, lines });
  }

  /** Lines go first, all together; a report whose lines cannot be kept now is refused, and comes again. */
  async #reportTurn(turn: readonly JobReport[]): Promise<(MillraceError | null)[]> {
    if (turn.every(({ logs }) => logs === null)) return this.#settleTurn(turn);
    const logged = turn.flatMap(({ id, token, logs }, place) => {
      const lease = leaseOf(id, token);
      return lease && logs !== null ? [{ ...lease, lines: logs, place }] : [];
    });
    const refusals = await this.parts.logs.appendAll(logged);
    const refused = new Map(logged.flatMap(({ place }, n) => (refusals[n] ? [[place, refusals[n]]] : [])));
    const answers = await this.#settleTurn(turn.filter((_, place) => !refused.has(place)));
    let next = 0;
    return turn.map((_, place) => refused.get(place) ?? answers[next++]!);
  }

  /** Most reports are completions: those are settled together, without promises for each. */
  async #settleTurn(turn: readonly JobReport[]): Promise<(MillraceError | null)[]> {
    const answers = new Array<MillraceError | null>(turn.length).fill(null);
    const completions: Completion[] = [];
    const places: number[] = [];
    const others: Promise<void>[] = [];
    const note = (place: number, report: Promise<void>): Promise<void> =>
      report.catch((error: unknown) => void (answers[place] = asRefusal(error)));
    for (const [place, report] of turn.entries()) {
      const lease = report.outcome === 'completed' ? leaseOf(report.id, report.token) : null;
      if (lease && report.outcome === 'completed') {
        places.push(place);
        completions.push({ id: lease.id, token: lease.token, result: report.result });
      } else others.push(note(place, this.#report(report)));
    }
    const [settled] = await Promise.all([this.parts.settler.completeAll(completions), ...others]);
    const late: Promise<void>[] = [];
    for (const [n, answer] of settled.entries()) {
      if (answer instanceof MillraceError) answers[places[n]!] = answer;
      else if (!answer) late.push(note(places[n]!, this.#tooLate(completions[n]!.id, 'complete')));
    }
    await Promise.all(late);
    return answers;
  }

  #report(report: JobReport): Promise<void> {
    const { id, token } = report;
    switch (report.outcome) {
      case 'completed':
        return this.complete(id, token, report.result);
      case 'failed':
        return this.fail(id, token, report.error, report.retryable, { ...report, logs: null });
      case 'released':
        return this.release(id, token, report.delaySecs);
      case 'suspended':
        return this.suspend(id, token, report.suspension);
    }
  }

  /** A report on a finished job is accepted without effect: it may repeat the one that finished it. */
  async #tooLate(id: string, operation: Operation): Promise<void> {
    if (!isTerminal(await this.#statusOf(id))) throw this.#lost(operation);
  }

  async #statusOf(id: string): Promise<JobStatus> {
    const status = isUuid(id) ? await this.#statuses.submit(id.toLowerCase()) : null;
    if (status === null) throw notFound('job');
    return status;
  }

  async #readStatuses(ids: readonly string[]): Promise<(JobStatus | null)[]> {
    const values = { ids: uuidArray(ids), buckets: int4Array(ids.map(bucketOfId)) };
    const rows = await this.parts.db.run<{ id: string; status: JobStatus }>(sql.statuses_of(values));
    const found = new Map(rows.map(({ id, status }) => [id, status]));
    return ids.map((id) => found.get(id) ?? null);
  }

  #lost(operation: Operation): MillraceError {
    this.parts.counters.metrics.stale(operation);
    return leaseLost();
  }

  async #extend(beats: readonly Beat[]): Promise<boolean[]> {
    const { stands, watched } = await this.parts.keeper.beat(beats);
    if (watched) this.#announce();
    return beats.map(stands);
  }

  /** At once, or together with what follows within PROGRESS_MS of the last time. */
  #announce(): void {
    if (this.#announcing) return;
    const waitMs = this.#announced + PROGRESS_MS - performance.now();
    const announce = (): void => {
      this.#announcing = null;
      this.#announced = performance.now();
      this.parts.hub.announceEvents();
    };
    if (waitMs <= 0) return announce();
    this.#announcing = setTimeout(announce, waitMs);
    this.#announcing.unref();
  }
}

/** Anything but a UUID was never issued. The database answers in lower case, so what is compared must be too. */
const leaseOf = (id: string, token: string): LeaseKey | null =>
  isUuid(id) && isUuid(token) ? { id: id.toLowerCase(), token: token.toLowerCase() } : null;

/**
 * Each item by itself, refusals included: those of different jobs together, those of one job one after the other. If
 * the database could do none of them, the call as a whole has failed.
 */
async function inTurns<Item extends { readonly id: string }, Answer>(
  items: readonly Item[],
  act: (turn: readonly Item[]) => Promise<readonly (Answer | MillraceError)[]>,
): Promise<(Answer | MillraceError)[]> {
  const answers = new Array<Answer | MillraceError>(items.length);
  for (const turn of turnsOf(items)) {
    const ofTurn = await act(turn.map((index) => items[index]!));
    turn.forEach((index, n) => (answers[index] = ofTurn[n]!));
  }
  if (items.length > 0 && answers.every(isUnavailable)) throw answers[0] as MillraceError;
  return answers;
}

/** The places of the items that name their job for the first time, of those that do for the second time, and so on. */
function turnsOf(items: readonly { readonly id: string }[]): number[][] {
  const turns: number[][] = [];
  const named = new Map<string, number>();
  items.forEach(({ id }, index) => {
    const key = id.toLowerCase();
    const turn = named.get(key) ?? 0;
    named.set(key, turn + 1);
    (turns[turn] ??= []).push(index);
  });
  return turns;
}
