import { SIGNALS_STORED, WAITS_QUEUE, WALK_LIMIT, type JobStatus } from '@millrace/contract';
import type { JobCheckpoints, JobRecord, JsonText, WaitRecord, WaitingForRecord } from '../../domain/records.js';
import type { Database } from '../../store/connection/database.js';
import { toInstant } from '../../store/rows.js';
import { loadStatements } from '../../store/sql.js';
import { cursorAfter, readCursor, WAIT_CURSOR } from '../shared/cursor.js';
import type { EngineMetrics } from '../shared/counters.js';
import type { WaitPage, WaitsQuery } from '../api.js';

/** What jobs wait for, for those who look; and forgetting what is over. */
const sql = loadStatements('durable/waits.sql');

/** Rows that one sweep looks at: however many jobs wait, a sweep costs the same. */
const SWEEP = 1_000;
const FIRST_ID = '00000000-0000-0000-0000-000000000000';

interface WaitRow {
  readonly job_id: string;
  readonly task: string;
  readonly signal: string;
  readonly key: string;
  readonly ask: JsonText | null;
  readonly since: string;
  readonly until: string;
  readonly workflow_id: string | null;
  readonly step: string | null;
}

interface WaitingRow {
  readonly checkpoint: string;
  readonly since: string;
  readonly until: string;
  readonly signal: string | null;
  readonly key: string | null;
  readonly ask: JsonText | null;
  /** Of one that waits for children: how many, and how many have not ended. */
  readonly total: number | null;
  readonly unfinished: number | null;
}

/** How many jobs are suspended, and how many signals are stored, over all tenants. */
export interface SuspendedJobs {
  readonly asleep: number;
  readonly for_signals: number;
  readonly for_children: number;
  readonly signals: number;
}

export class Waits {
  /** Where the next sweeps go on. */
  #waitsAfter = FIRST_ID;
  #signalsAfter = FIRST_ID;
  #workflowSignalsAfter = FIRST_ID;

  constructor(
    private readonly db: Database,
    private readonly metrics: Pick<EngineMetrics, 'untaken'>,
  ) {}

  async of(id: string): Promise<WaitingForRecord | null> {
    const [row] = await this.db.run<WaitingRow>(sql.wait_of_job({ id }));
    return row ? toWaitingFor(row) : null;
  }

  /** A job as it is shown by itself: with what it waits for. */
  async shownOn(job: JobRecord): Promise<JobRecord> {
    const waiting = await this.ofState({ ...job, queue: job.queue_name });
    return waiting === null ? job : { ...job, waiting_for: waiting };
  }

  /** The same of any job; only one that a worker has given back, or a waiting step, can wait for anything. */
  async ofState(job: JobState): Promise<WaitingForRecord | null> {
    return mayWait(job) ? this.of(job.id) : null;
  }

  /** A sleep that is over now, because somebody says so. */
  async endSleep(id: string): Promise<void> {
    await this.db.run(sql.end_sleep({ id }));
  }

  async deadlines(id: string): Promise<JobCheckpoints['waits']> {
    const rows = await this.db.run<{ name: string; until: string }>(sql.deadlines_of_job({ id }));
    return rows.map(({ name, until }) => ({ name, until: toInstant(until) }));
  }

  async page(tenant: string, { name, key, asks, limit, cursor }: WaitsQuery): Promise<WaitPage> {
    const after = cursor === null ? null : readCursor(WAIT_CURSOR, cursor).at;
    const statement = sql.waits_of_tenant({
      tenant,
      signal: name,
      key,
      asks,
      after_since: after?.since ?? null,
      after_id: after?.id ?? null,
      max_waits: limit + 1,
    });
    const rows = await this.db.read<WaitRow>({ tenant, statement });
    const waits = rows.slice(0, limit).map(toWait);
    const last = waits.at(-1);
    const hasMore = rows.length > limit && last !== undefined;
    return { waits, nextCursor: hasMore ? cursorAfter(WAIT_CURSOR, { since: last.since, id: last.job_id }) : null };
  }

  /** Removes signals whose time is over, and what jobs that have ended leave behind: a part of it each time. */
  async forget(): Promise<void> {
    for (let removed = SWEEP; removed >= SWEEP;) {
      const [row] = await this.db.run<{ removed: number }>(sql.forget_signals({ max_rows: SWEEP }));
      removed = row?.removed ?? 0;
      this.metrics.untaken('expired', removed);
    }
    const [wait] = await this.db.run<{ next: string }>(
      sql.forget_waits({ after_id: this.#waitsAfter, max_rows: SWEEP }),
    );
    this.#waitsAfter = wait?.next ?? FIRST_ID;
    const [signal] = await this.db.run<{ removed: number; next: string | null }>(
      sql.forget_job_signals({ after_id: this.#signalsAfter, max_rows: SWEEP }),
    );
    this.metrics.untaken('job_ended', signal?.removed ?? 0);
    this.#signalsAfter = signal?.next ?? FIRST_ID;
    const [toWorkflow] = await this.db.run<{ removed: number; next: string | null }>(
      sql.forget_workflow_signals({ after_id: this.#workflowSignalsAfter, max_rows: SWEEP }),
    );
    this.metrics.untaken('job_ended', toWorkflow?.removed ?? 0);
    this.#workflowSignalsAfter = toWorkflow?.next ?? FIRST_ID;
  }

  /** For the metrics: counted as far as it is cheap. */
  async suspended(): Promise<SuspendedJobs> {
    const bounds = { max_waits: WALK_LIMIT, max_signals: SIGNALS_STORED.perTenant };
    const [row] = await this.db.runPlanned<SuspendedJobs>(sql.suspended_jobs(bounds));
    return row ?? { asleep: 0, for_signals: 0, for_children: 0, signals: 0 };
  }
}

interface JobState {
  readonly id: string;
  readonly queue: string;
  readonly status: JobStatus;
  readonly delivery_count: number;
}

const mayWait = ({ queue, status, delivery_count: deliveries }: JobState): boolean =>
  (deliveries > 0 || queue === WAITS_QUEUE) && (status === 'pending' || status === 'retrying');

const toWaitingFor = ({ total, unfinished, since, until, ...row }: WaitingRow): WaitingForRecord => ({
  ...row,
  since: toInstant(since),
  until: toInstant(until),
  children: total === null ? null : { total, unfinished: unfinished ?? 0 },
});

const toWait = ({ task, signal, since, until, step, ...row }: WaitRow): WaitRecord => ({
  ...row,
  workflow_step_id: step,
  task_name: task,
  name: signal,
  since: toInstant(since),
  until: toInstant(until),
});
