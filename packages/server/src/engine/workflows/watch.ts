import { hash } from 'node:crypto';
import { isUnavailable, MillraceError, unavailable } from '../../domain/errors.js';
import type { WorkflowSnapshot } from '../../domain/workflow-records.js';
import { textArray, uuidArray } from '../../store/arrays.js';
import type { Execute } from '../../store/connection/database.js';
import { loadStatements } from '../../store/sql.js';
import { BatchedPoller } from '../shared/batched-poller.js';
import type { EventStreams } from '../shared/event-streams.js';
import type { Hub } from '../shared/hub.js';
import { PulledStream } from '../shared/pulled-stream.js';
import { RecentStates } from '../shared/recent-states.js';
import { TenantQuota } from '../shared/tenant-quota.js';

/**
 * Event streams of workflows. Nothing is written for them, and a workflow that nobody watches costs nothing: one
 * statement asks for a digest of each watched workflow, soon after this process moved one of them and every LOOK_MS for
 * all of them. A stream whose workflow has another digest reads it when its client is ready for the next event, so no
 * record waits in memory.
 *
 * Changes that follow each other within one look, or while a client is still reading, are shown as one event: every
 * state that lasts is shown, and so is the last one. A look asks after MAX_STEPS_PER_LOOK steps at most; where more are
 * watched, looks take turns.
 */
const sql = loadStatements('workflows/reads.sql');

const LOOK_MS = 1_000;
const GATHER_MS = 50;
const MAX_STEPS_PER_LOOK = 20_000;
/** Steps of the workflows that are watched. Further streams are refused. */
export const MAX_STEPS_WATCHED = 100_000;
export const MAX_STEPS_WATCHED_PER_TENANT = 50_000;

/** A stream knows what it has shown by its digest, never by the record. */
interface Follower {
  readonly stream: PulledStream<WorkflowSnapshot>;
  /** What it is about to show first. */
  first: WorkflowSnapshot | null;
  shown: string;
  changed: boolean;
}

interface Watched {
  readonly tenant: string;
  readonly id: string;
  readonly steps: number;
  readonly followers: Set<Follower>;
  /** Null: unknown, and whatever is found counts as a change. */
  mark: string | null;
  reading: Promise<WorkflowSnapshot> | null;
}

export type ReadSnapshot = (tenant: string, id: string) => Promise<WorkflowSnapshot>;

export class WorkflowWatcher {
  /** In the order of their turns: whichever was looked at last is last. */
  readonly #watched = new Map<string, Watched>();
  readonly #steps = new TenantQuota({ inAll: MAX_STEPS_WATCHED, perTenant: MAX_STEPS_WATCHED_PER_TENANT });
  readonly #poller = new BatchedPoller<string>({
    gatherMs: GATHER_MS,
    everyMs: LOOK_MS,
    inTurn: () => this.#fitting(this.#watched.keys()),
    fitting: (moved) => this.#fitting(moved),
    poll: (ids) => this.#look(ids),
  });
  readonly #recent = new RecentStates<WorkflowSnapshot>();
  #unsubscribe: (() => void) | null = null;

  constructor(
    private readonly execute: Execute,
    private readonly hub: Hub,
    private readonly streams: EventStreams,
    private readonly read: ReadSnapshot,
  ) {}

  get open(): number {
    let n = 0;
    for (const { followers } of this.#watched.values()) n += followers.size;
    return n;
  }

  /** Resolves once the first state is known; yields it and every later one that lasts, ending after a final one. */
  async watch(tenant: string, id: string, signal: AbortSignal): Promise<AsyncIterable<WorkflowSnapshot>> {
    const giveBack = this.streams.take(tenant);
    try {
      const first = await this.#first(tenant, id);
      return this.#follow(isFinal(first) ? null : this.#enter(tenant, first), first, signal, giveBack);
    } catch (error) {
      giveBack();
      throw error;
    }
  }

  async #first(tenant: string, id: string): Promise<WorkflowSnapshot> {
    const known = this.#watched.get(id);
    if (known?.tenant !== tenant) return this.#shared(await this.read(tenant, id));
    // A reading that is under way may miss what the caller has just done.
    await known.reading?.catch(() => undefined);
    return this.#readShared(known);
  }

  #enter(tenant: string, { workflow: { id }, steps: { length: steps } }: WorkflowSnapshot): Watched {
    const known = this.#watched.get(id);
    if (known) {
      // Whatever has changed between the read and now is found by the next look.
      known.mark = null;
      this.#poller.ask(id);
      return known;
    }
    if (!this.#steps.take(tenant, steps)) throw unavailable('too many workflows are being watched; try again shortly');
    const watched: Watched = { tenant, id, steps, followers: new Set(), mark: null, reading: null };
    this.#watched.set(id, watched);
    this.#unsubscribe ??= this.hub.onWorkflows((moved) => this.#hear(moved));
    this.#poller.ask(id);
    return watched;
  }

  #leave(watched: Watched, follower: Follower): void {
    watched.followers.delete(follower);
    if (watched.followers.size > 0 || this.#watched.get(watched.id) !== watched) return;
    const { tenant, id, steps } = watched;
    this.#watched.delete(id);
    this.#poller.forget(id);
    this.#steps.giveBack(tenant, steps);
    if (this.#watched.size > 0) return;
    this.#unsubscribe?.();
    this.#unsubscribe = null;
    this.#poller.stop();
  }

  /** `watched`: null if there is nothing to follow. */
  #follow(
    watched: Watched | null,
    first: WorkflowSnapshot,
    signal: AbortSignal,
    giveBack: () => void,
  ): PulledStream<WorkflowSnapshot> {
    const pull = (): Promise<WorkflowSnapshot | null> => this.#next(watched, follower);
    const onClose = async (): Promise<void> => {
      giveBack();
      if (watched) this.#leave(watched, follower);
    };
    const stream = new PulledStream({ pull, onClose, signal });
    const follower: Follower = { stream, first, shown: digestOf(first), changed: false };
    watched?.followers.add(follower);
    return stream;
  }

  async #next(watched: Watched | null, follower: Follower): Promise<WorkflowSnapshot | null> {
    const { first } = follower;
    follower.first = null;
    if (first !== null) return ending(follower, first);
    if (watched === null || !follower.changed) return null;
    follower.changed = false;
    const next = await this.#snapshot(watched);
    const digest = next === null ? follower.shown : digestOf(next);
    if (next === null || digest === follower.shown) return null;
    follower.shown = digest;
    return ending(follower, next);
  }

  /** Null: ask again later. */
  async #snapshot(watched: Watched): Promise<WorkflowSnapshot | null> {
    try {
      return await this.#readShared(watched);
    } catch (error) {
      if (error instanceof MillraceError && error.code === 'not_found') this.#end(watched);
      else if (!isUnavailable(error)) throw error;
      watched.mark = null;
      return null;
    }
  }

  /** Streams of one workflow that want to know at the same time share the answer. */
  #readShared(watched: Watched): Promise<WorkflowSnapshot> {
    const { tenant, id } = watched;
    return (watched.reading ??= this.read(tenant, id)
      .then((snapshot) => this.#shared(snapshot))
      .finally(() => (watched.reading = null)));
  }

  /** The same object for everybody, as long as it is worth keeping. */
  #shared(snapshot: WorkflowSnapshot): WorkflowSnapshot {
    const { workflow } = snapshot;
    const name = `${workflow.id}/${digestOf(snapshot)}`;
    const chars = workflow.steps.length + workflow.context.length + workflow.metadata.length;
    this.#recent.keep(name, snapshot, chars);
    return this.#recent.get(name) ?? snapshot;
  }

  #hear(id: string): void {
    if (this.#watched.has(id)) this.#poller.ask(id);
  }

  /** As many as fit into a look, and one in any case. */
  #fitting(candidates: Iterable<string>): string[] {
    const ids: string[] = [];
    let steps = 0;
    for (const id of candidates) {
      steps += this.#watched.get(id)!.steps;
      if (ids.length > 0 && steps > MAX_STEPS_PER_LOOK) break;
      ids.push(id);
    }
    return ids;
  }

  async #look(ids: readonly string[]): Promise<void> {
    const asked = ids.map((id) => this.#watched.get(id)!);
    for (const watched of asked) this.#moveToEnd(watched);
    try {
      const rows = await this.execute<{ id: string; mark: string }>(
        sql.marks_of({
          tenants: textArray(asked.map(({ tenant }) => tenant)),
          ids: uuidArray(asked.map(({ id }) => id)),
        }),
      );
      const marks = new Map(rows.map(({ id, mark }) => [id, mark]));
      for (const watched of asked) this.#found(watched, marks.get(watched.id));
    } catch {
      // The database is away. The regular look comes back to them.
    }
  }

  #moveToEnd(watched: Watched): void {
    this.#watched.delete(watched.id);
    this.#watched.set(watched.id, watched);
  }

  #found(watched: Watched, mark: string | undefined): void {
    // Retention has removed it.
    if (mark === undefined) return this.#end(watched);
    if (mark === watched.mark) return;
    watched.mark = mark;
    for (const follower of watched.followers) {
      follower.changed = true;
      follower.stream.wake();
    }
  }

  #end(watched: Watched): void {
    for (const { stream } of watched.followers) stream.end();
  }
}

function ending(follower: Follower, snapshot: WorkflowSnapshot): WorkflowSnapshot {
  if (isFinal(snapshot)) follower.stream.end();
  return snapshot;
}

const isFinal = ({ workflow }: WorkflowSnapshot): boolean => workflow.completed_at !== null;

/** Of everything that can change. The context changes only when a step ends. */
const digestOf = ({ workflow: { status, started_at }, steps }: WorkflowSnapshot): string =>
  hash('sha1', JSON.stringify([status, started_at, steps]));
