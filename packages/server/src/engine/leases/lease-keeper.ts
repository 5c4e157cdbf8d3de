import type { JsonText } from '../../domain/records.js';
import { int4Array, jsonArray, uuidArray } from '../../store/arrays.js';
import type { Database } from '../../store/connection/database.js';
import { loadStatements } from '../../store/sql.js';
import type { WorkerRecorder } from '../shared/worker-recorder.js';
import type { Bundle, HeldJob } from './bundle.js';
import type { MarkMove } from './claim-mark.js';
import { leaseKeyColumns, type LeaseKey } from './lease-key.js';
import { moveMarks } from './move-marks.js';

/** For those who hold jobs: extends leases, checks whether they are still held, and moves claim marks. */
const sql = { ...loadStatements('leases/leases.sql'), ...loadStatements('leases/bundles.sql') };

/** Whether a lease that was asked about is still held. */
export type IsHeld = (lease: LeaseKey) => boolean;

/** Whether a member of a bundle that was asked about is still in it. */
export type IsBundled = (member: HeldJob) => boolean;

/** A heartbeat that may say how far its attempt is. */
export interface Beat extends LeaseKey {
  readonly extendSecs: number;
  readonly progress: JsonText | null;
}

/** Whose lease was extended. */
interface Extended extends LeaseKey {
  readonly tenant: string;
  readonly worker: string | null;
  /** Null: the queue of the pool. */
  readonly queue: string | null;
}

interface BundleRow {
  readonly token: string;
  readonly tenant: string;
  readonly open: string;
}

export class LeaseKeeper {
  constructor(
    private readonly db: Database,
    private readonly workers: WorkerRecorder,
    /** Where the pool claims. */
    private readonly poolQueue: string,
  ) {}

  /** Sets new deadlines, measured from now. */
  async extend(leases: readonly LeaseKey[], secs: number | readonly number[]): Promise<IsHeld> {
    const deadlines = typeof secs === 'number' ? leases.map(() => secs) : secs;
    const rows = await this.db.run<Extended>(sql.extend({ secs: int4Array(deadlines), ...leaseKeyColumns(leases) }));
    this.#note(rows);
    return standsIn(rows);
  }

  /** The same for heartbeats. `watched`: an event stream follows a job of which there is progress. */
  async beat(beats: readonly Beat[]): Promise<{ readonly stands: IsHeld; readonly watched: boolean }> {
    if (beats.every(({ progress }) => progress === null)) {
      const secs = beats.map(({ extendSecs }) => extendSecs);
      return { stands: await this.extend(beats, secs), watched: false };
    }
    const latest = latestOf(beats);
    const rows = await this.db.run<Extended & { watched: boolean }>(
      sql.extend_with_progress({
        secs: int4Array(latest.map(({ extendSecs }) => extendSecs)),
        progress: jsonArray(latest.map(({ progress }) => progress)),
        ...leaseKeyColumns(latest),
      }),
    );
    this.#note(rows);
    return { stands: standsIn(rows), watched: rows[0]?.watched ?? false };
  }

  /** Checks without writing anything. */
  async standing(leases: readonly LeaseKey[]): Promise<IsHeld> {
    return standsIn(await this.db.run<LeaseKey>(sql.standing(leaseKeyColumns(leases))));
  }

  async extendBundles(bundles: readonly Bundle[], secs: number): Promise<IsBundled> {
    const rows = await this.db.run<BundleRow & Omit<Extended, 'id'>>(
      sql.extend_bundles({ tokens: tokens(bundles), secs }),
    );
    this.#note(rows);
    return bundledIn(rows);
  }

  async standingBundles(bundles: readonly Bundle[]): Promise<IsBundled> {
    return bundledIn(await this.db.run<BundleRow>(sql.standing_bundles({ tokens: tokens(bundles) })));
  }

  /** Once this resolves, the pool may start jobs as far as the marks say. */
  moveMarks(moves: readonly MarkMove[]): Promise<void> {
    return moveMarks(this.db.run, moves);
  }

  #note(rows: readonly Omit<Extended, 'id'>[]): void {
    for (const { tenant, worker, queue } of rows) this.workers.seen(tenant, worker, queue ?? this.poolQueue);
  }
}

const tokens = (bundles: readonly Bundle[]): Buffer => uuidArray(bundles.map((bundle) => bundle.token));

const nameOf = ({ id, token }: LeaseKey): string => `${id} ${token}`;

function bundledIn(rows: readonly BundleRow[]): IsBundled {
  const open = new Map(rows.map((row) => [`${row.token} ${row.tenant}`, row.open]));
  return ({ leaseToken, job, position }) => open.get(`${leaseToken} ${job.tenant_id}`)?.[position - 1] === '1';
}

function standsIn(rows: readonly LeaseKey[]): IsHeld {
  const standing = new Set(rows.map(nameOf));
  return (lease) => standing.has(nameOf(lease));
}

/** Each lease once, with the last progress that was reported for it. */
function latestOf(beats: readonly Beat[]): Beat[] {
  const latest = new Map<string, Beat>();
  for (const beat of beats) {
    const progress = beat.progress ?? latest.get(nameOf(beat))?.progress ?? null;
    latest.set(nameOf(beat), { ...beat, progress });
  }
  return [...latest.values()];
}
