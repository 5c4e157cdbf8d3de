import type { Database } from '../../store/connection/database.js';
import { loadStatements, type Statement } from '../../store/sql.js';
import { expireCheckpoints } from '../durable/checkpoints.js';
import { expireChildren } from '../durable/parents.js';
import { expireLogs } from './logs.js';

/**
 * One pass over all tenants that removes what is older than the window: workflows with their jobs, then jobs, then dead
 * letters, which are kept twice as long, then what durable jobs had stored and what handlers wrote. Each step continues
 * where the last one stopped, however many tenants there are; the next pass finds what ends behind the cursor. A pass
 * stores no state: if its process dies, the next pass of any process removes the rest.
 */
const sql = loadStatements('jobs/retention.sql');

/** Rows that one statement looks at. */
const BATCH = 1_000;
/** Steps of workflows that one statement removes, each with its job: a workflow may have a thousand. */
const MAX_STEPS = 5_000;

/** Where the next step begins: after this id, among the jobs or workflows of this tenant that ended this way. */
interface Cursor {
  readonly after_tenant: string;
  readonly after_ending: string;
  readonly after_id: string;
}
/** No tenant has an empty name, so everything comes after it. */
const START: Cursor = {
  after_tenant: '',
  after_ending: 'completed',
  after_id: '00000000-0000-0000-0000-000000000000',
};

/** Rows that a statement looks at, and after how many hours they go. */
interface Bounds {
  readonly hours: number;
  readonly max_rows: number;
}

interface Phase {
  readonly kind: 'workflows' | 'jobs' | 'deadLetters' | 'durableJobs' | 'parents' | 'loggedJobs';
  readonly statement: (bounds: Bounds, cursor: Cursor) => Statement;
  /** For how many windows it is kept. */
  readonly windows: number;
}

const PHASES: readonly Phase[] = [
  {
    kind: 'workflows',
    statement: (bounds, cursor) => sql.expire_workflows({ ...bounds, ...cursor, max_steps: MAX_STEPS }),
    windows: 1,
  },
  { kind: 'jobs', statement: (bounds, cursor) => sql.expire_jobs({ ...bounds, ...cursor }), windows: 1 },
  {
    kind: 'deadLetters',
    statement: (bounds, { after_tenant }) => sql.expire_dead_letters({ ...bounds, after_tenant }),
    windows: 2,
  },
  {
    kind: 'durableJobs',
    statement: (bounds, { after_id }) => expireCheckpoints({ ...bounds, after_id }),
    windows: 1,
  },
  {
    kind: 'parents',
    statement: (bounds, { after_id }) => expireChildren({ ...bounds, after_id }),
    windows: 1,
  },
  { kind: 'loggedJobs', statement: (bounds, { after_id }) => expireLogs({ ...bounds, after_id }), windows: 1 },
];

interface StepRow {
  readonly removed: number;
  readonly overdue_secs: number | null;
  readonly tenant: string | null;
  readonly ending?: string;
  readonly id?: string;
}

export class RetentionPass {
  readonly removed = { workflows: 0, jobs: 0, deadLetters: 0, durableJobs: 0, parents: 0, loggedJobs: 0 };
  #overdueSecs = 0;
  #phase = 0;
  #cursor = START;

  constructor(
    private readonly db: Database,
    private readonly retentionHours: number,
  ) {}

  get isOver(): boolean {
    return this.#phase === PHASES.length;
  }

  /** How late the most overdue removal of this pass was. */
  get overdueSecs(): number {
    return this.#overdueSecs;
  }

  get foundNothing(): boolean {
    return Object.values(this.removed).every((n) => n === 0);
  }

  /** Runs one statement. If it fails, the next step repeats it. */
  async step(): Promise<void> {
    const phase = PHASES[this.#phase];
    if (!phase) return;
    const bounds = { hours: this.retentionHours * phase.windows, max_rows: BATCH };
    const [row] = await this.db.run<StepRow>(phase.statement(bounds, this.#cursor));
    this.removed[phase.kind] += row?.removed ?? 0;
    this.#overdueSecs = Math.max(this.#overdueSecs, row?.overdue_secs ?? 0);
    if (row && row.tenant !== null) {
      const { tenant, ending = START.after_ending, id = START.after_id } = row;
      this.#cursor = { after_tenant: tenant, after_ending: ending, after_id: id };
    } else {
      this.#cursor = START;
      this.#phase++;
    }
  }
}
