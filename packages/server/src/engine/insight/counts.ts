import {
  COUNT_EXACT_LIMIT,
  WORKFLOW_STATUSES,
  type Count,
  type Counts as CountsAnswer,
  type JobState,
  type WorkflowStatus,
} from '@millrace/contract';
import type { Database } from '../../store/connection/database.js';
import { loadStatements } from '../../store/sql.js';

/** How much there is: counted as far as that is quick, beyond that estimated from running totals. */
const sql = loadStatements('insight/counts.sql');

interface CountsRow {
  /** How many waiting jobs were looked at, and whether those are all. */
  readonly waiting: number;
  readonly waiting_is_whole: boolean;
  readonly pending: number;
  readonly scheduled: number;
  readonly retrying: number;
  readonly running: number;
  readonly running_in_all: number;
  readonly dead_letters: number;
  readonly dead_letters_in_all: number;
  readonly dead_letters_are_whole: boolean;
  readonly completed: number;
  readonly failed: number;
  readonly cancelled: number;
  /** Of the tenant, in JSON; null if nothing was ever written for it. */
  readonly totals: string | null;
  /** What the series know of the queue that was asked for, in JSON. */
  readonly past: string;
  /** Each counted up to the limit, in JSON. */
  readonly workflows: string;
}

/** Where there is far more than is counted, a sample of this size tells what it consists of. */
const SAMPLE = 1_000;

type Ends = Readonly<Record<'completed' | 'failed' | 'cancelled', number>>;
type Totals = Ends & { readonly created: number };

const NONE: Totals = { created: 0, completed: 0, failed: 0, cancelled: 0 };

export class Counts {
  constructor(private readonly db: Database) {}

  async of(tenant: string, queue: string | null): Promise<Omit<CountsAnswer, 'warnings'>> {
    const statement = sql.counts({ tenant, max_rows: COUNT_EXACT_LIMIT, queue, sample: SAMPLE });
    const [row] = await this.db.count<CountsRow>({ tenant, statement, isBounded: true });
    if (row === undefined) throw new Error('a count came back empty');
    const totals = row.totals === null ? NONE : (JSON.parse(row.totals) as Totals);
    const workflows = JSON.parse(row.workflows) as Partial<Record<WorkflowStatus, number>>;
    return {
      jobs: { ...waitingCounts(row, totals), ...endCounts(row, queue, totals) },
      dead_letters: counted(row.dead_letters, row.dead_letters_in_all, row.dead_letters_are_whole, totals.failed),
      workflows: Object.fromEntries(
        WORKFLOW_STATUSES.map((status) => [status, upToLimit(workflows[status] ?? 0)]),
      ) as Record<WorkflowStatus, Count>,
    };
  }
}

/** `part` of the `sampled` rows that were looked at; if those are not all, as much of the whole. */
function counted(part: number, sampled: number, isWhole: boolean, whole: number): Count {
  if (isWhole) return { n: part, exact: true };
  return { n: Math.round((part / sampled) * Math.max(whole, sampled)), exact: false };
}

const upToLimit = (n: number): Count => ({ n: Math.min(n, COUNT_EXACT_LIMIT), exact: n <= COUNT_EXACT_LIMIT });

function waitingCounts(
  row: CountsRow,
  { created, completed, failed, cancelled }: Totals,
): Pick<Record<JobState, Count>, 'pending' | 'scheduled' | 'retrying' | 'running'> {
  const unfinished = created - completed - failed - cancelled - row.running_in_all;
  const waiting = (part: number): Count => counted(part, row.waiting, row.waiting_is_whole, unfinished);
  return {
    pending: waiting(row.pending),
    scheduled: waiting(row.scheduled),
    retrying: waiting(row.retrying),
    running: counted(row.running, row.running_in_all, row.running_in_all <= COUNT_EXACT_LIMIT, row.running_in_all),
  };
}

function endCounts(row: CountsRow, queue: string | null, totals: Totals): Record<keyof Ends, Count> {
  const past = JSON.parse(row.past) as Ends;
  const end = (status: keyof Ends): Count => {
    if (queue !== null) return { n: past[status], exact: false };
    // The statement does not count what the totals say is much more than the limit.
    if (totals[status] > 2 * COUNT_EXACT_LIMIT || row[status] > COUNT_EXACT_LIMIT) {
      return { n: Math.max(totals[status], COUNT_EXACT_LIMIT), exact: false };
    }
    return { n: row[status], exact: true };
  };
  return { completed: end('completed'), failed: end('failed'), cancelled: end('cancelled') };
}
