import { isLimitedId } from '../../domain/ids.js';
import type { JobRecord, JsonText } from '../../domain/records.js';
import { boolArray, int4Array, jsonArray, textArray, uuidArray } from '../../store/arrays.js';
import { Batcher } from '../../store/batcher.js';
import type { Database } from '../../store/connection/database.js';
import { listIn } from '../../store/rows.js';
import { loadStatements } from '../../store/sql.js';
import type { MarkMove } from '../leases/claim-mark.js';
import { markColumns } from '../leases/move-marks.js';
import { unbundle, type Bundled } from '../leases/unbundle.js';
import { announceAdmitted, type AdmittedJobs } from '../shared/admitted-jobs.js';
import type { Counters } from '../shared/counters.js';
import type { Hub } from '../shared/hub.js';
import { limitIdsOf } from '../shared/limit-id.js';
import { COMPLETED } from './after-commit.js';

/**
 * How members leave a bundle: completed, many at once, in the statement that stores their results; or moved to leases
 * of their own, for every other outcome.
 */
const sql = loadStatements('outcomes/settle.sql');

/** Completions of members of one bundle. */
export interface BundleCompletions {
  readonly token: string;
  readonly tenant: string;
  /** How many jobs were claimed into it. */
  readonly size: number;
  readonly positions: readonly number[];
  readonly results: readonly JsonText[];
  /** The same members. */
  readonly jobs: readonly JobRecord[];
  /** No member will be left in it: the row can be deleted. */
  readonly last: boolean;
}

/** Whether the member at a position was completed. */
export type WasCompleted = (position: number) => boolean;

interface BundleRow {
  readonly n: number;
  readonly taken: string;
  readonly run_secs: number;
  readonly watched: number;
  /** In JSON, of jobs that may have limits: limits where somebody may be let in now. */
  readonly looks?: string | null;
  /** In JSON: limits whose line has run out. */
  readonly ran_out?: string | null;
  /** In JSON: jobs that took over the room of these. */
  readonly admitted?: string | null;
}

const BATCH = { maxItems: 1000, inFlight: 2, maxWaiting: 100_000 };

export class BundleSettler {
  readonly #unbundlings = new Batcher<Bundled, boolean>((items) => this.#unbundle(items), BATCH);

  constructor(
    private readonly db: Database,
    private readonly hub: Hub,
    private readonly counters: Counters,
  ) {}

  /**
   * Completes members of bundles, in one statement: the caller makes sure that there are not too many. Returns for each
   * bundle which members it completed; the others are no longer in it. `emptied`: tokens of bundles whose rows are
   * deleted if no member is left in them. The same statement moves claim marks.
   */
  async complete(
    bundles: readonly BundleCompletions[],
    emptied: readonly string[],
    moves: readonly MarkMove[],
  ): Promise<WasCompleted[]> {
    const columns = {
      emptied_tokens: uuidArray(emptied),
      ...bundleColumns(bundles),
      ...memberColumns(bundles),
      ...markColumns(moves),
    };
    const left = roomLeft(bundles);
    const rows = await this.db.run<BundleRow>(
      left === null ? sql.settle_bundled(columns) : sql.settle_bundled_limited({ ...columns, ...left }),
    );
    const [first] = rows;
    if (first && first.watched > 0) this.hub.announceEvents();
    const looks = { limits: listIn<string>(first?.looks), soon: listIn<string>(first?.ran_out) };
    this.hub.announceLimits({ ...looks, slept: false });
    announceAdmitted(this.hub, this.counters.metrics, listIn<AdmittedJobs>(first?.admitted));
    const byNumber = new Map(rows.map((row) => [row.n, row]));
    return bundles.map((bundle, index) => this.#countCompleted(bundle, byNumber.get(index + 1)));
  }

  /** Moves a job to its own lease, if it is in a bundle: required for every outcome but completion. */
  unbundle(job: Bundled): Promise<boolean> {
    return this.#unbundlings.submit(job);
  }

  #countCompleted({ tenant, positions, jobs }: BundleCompletions, row: BundleRow | undefined): WasCompleted {
    const wasCompleted = (position: number): boolean => row?.taken[position - 1] === '1';
    if (!row) return wasCompleted;
    let completed = 0;
    let origin = { tenant, queue: '', task: '' };
    for (const [index, position] of positions.entries()) {
      if (!wasCompleted(position)) continue;
      const { queue_name: queue, task_name: task } = jobs[index]!;
      completed++;
      if (task !== origin.task) origin = { tenant, queue, task };
      this.counters.settled({ outcome: 'completed', origin, runSecs: row.run_secs });
    }
    const [first] = jobs;
    if (first) this.counters.workers.reported(tenant, first.worker_id, first.queue_name, completed, 0);
    if (first && completed > 0) this.hub.announceEnd(first.queue_name);
    if (!this.hub.hearsSettled) return wasCompleted;
    jobs?.forEach(({ id, task_name: task, queue_name: queue }, k) => {
      if (!wasCompleted(positions[k]!)) return;
      this.hub.announceSettled({ ...COMPLETED, id, tenant, task, queue, runSecs: row.run_secs });
    });
    return wasCompleted;
  }

  async #unbundle(items: readonly Bundled[]): Promise<boolean[]> {
    const moved = await unbundle(this.db.run, items);
    return items.map(({ id }) => moved.has(id));
  }
}

const bundleColumns = (bundles: readonly BundleCompletions[]) => ({
  bundle_tokens: uuidArray(bundles.map(({ token }) => token)),
  bundle_tenants: textArray(bundles.map(({ tenant }) => tenant)),
  masks: textArray(bundles.map(maskOf)),
  are_last: boolArray(bundles.map(({ last }) => last)),
});

/** In one walk: every job that the pool completes passes through here. */
function memberColumns(bundles: readonly BundleCompletions[]) {
  const [numbers, places, texts]: [number[], number[], JsonText[]] = [[], [], []];
  bundles.forEach(({ positions, results }, index) => {
    for (let n = 0; n < positions.length; n++) {
      numbers.push(index + 1);
      places.push(positions[n]!);
      texts.push(results[n]!);
    }
  });
  return {
    member_bundles: int4Array(numbers),
    member_positions: int4Array(places),
    member_results: jsonArray(texts),
  };
}

/** Which members leave which limits, as they were claimed; null if none does. */
function roomLeft(bundles: readonly BundleCompletions[]) {
  const [numbers, places, limits]: [number[], number[], string[]] = [[], [], []];
  bundles.forEach(({ tenant, jobs, positions }, index) => {
    jobs.forEach(({ id, queue_name: queue, config }, n) => {
      if (!isLimitedId(id)) return;
      for (const limit of limitIdsOf(tenant, queue, config) ?? []) {
        numbers.push(index + 1);
        places.push(positions[n]!);
        limits.push(limit);
      }
    });
  });
  if (limits.length === 0) return null;
  return { left_bundles: int4Array(numbers), left_positions: int4Array(places), left_limits: uuidArray(limits) };
}

function maskOf({ size, positions }: BundleCompletions): string {
  const mask = Buffer.alloc(size, '0');
  for (const position of positions) mask[position - 1] = ONE;
  return mask.toString('latin1');
}

const ONE = 0x31;
