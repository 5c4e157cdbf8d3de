import { randomUUID } from 'node:crypto';
import { WAITS_QUEUE } from '@millrace/contract';
import type { JobRecord, JsonText, LeasedJob } from '../../domain/records.js';
import { rawFields } from '../../domain/raw-json.js';
import { uuidArray } from '../../store/arrays.js';
import type { Database } from '../../store/connection/database.js';
import { loadStatements } from '../../store/sql.js';
import type { Claimer } from '../leases/claim.js';
import { separateSlots } from '../leases/slots.js';
import { plainSettlement } from '../outcomes/settlement.js';
import type { Settler } from '../outcomes/settle.js';
import type { Definition, Definitions } from '../workflows/definitions.js';
import type { Checkpoints } from './checkpoints.js';

/**
 * Ends the jobs of steps that waited for a signal: with its value once it has come, or at the deadline. It takes them
 * from their queue as a worker would, so whatever dies in between, the lease expires and another process does it.
 * Signal and deadline compete for the checkpoint of the job: the first one stored is how the step ends.
 */
const sql = loadStatements('durable/waits.sql');

/** Jobs that are taken together. */
const AT_ONCE = 200;
const LEASE_SECS = 30;
/** What is due is being taken by another process. */
const TAKEN_SECS = 0.1;
const TIMED_OUT = '{"timed_out":true}';

export interface StepEnderDeps {
  readonly db: Database;
  readonly claimer: Claimer;
  readonly settler: Settler;
  readonly checkpoints: Checkpoints;
  readonly definitions: Definitions;
}

export class StepEnder {
  constructor(private readonly deps: StepEnderDeps) {}

  /** Ends every step whose time has come. Returns the seconds until the next deadline; null: no step waits. */
  async run(): Promise<number | null> {
    for (;;) {
      const secs = await this.deps.claimer.nextDue(WAITS_QUEUE);
      if (secs === null || secs > 0) return secs;
      if ((await this.#endSome()) === 0) return TAKEN_SECS;
    }
  }

  async #endSome(): Promise<number> {
    const { db, claimer, definitions } = this.deps;
    const slots = Array.from({ length: AT_ONCE }, () => {
      return { token: randomUUID(), leaseSecs: LEASE_SECS, workerId: null };
    });
    const { jobs } = await claimer.claim(WAITS_QUEUE, separateSlots(slots));
    if (jobs.length === 0) return 0;
    const rows = await db.run<{ job_id: string; value: JsonText }>(
      sql.answers_of({ ids: uuidArray(jobs.map(({ job }) => job.id)) }),
    );
    const answers = new Map(rows.map(({ job_id: id, value }) => [id, value]));
    const keys = jobs.map(({ job }) => ({ tenant: job.tenant_id, id: job.workflow_id! }));
    const defined = await definitions.of(keys, db.run);
    const known = jobs.filter(({ job }) => defined.has(job.workflow_id!));
    await Promise.all(
      known.map((leased) => {
        const { id, workflow_id: workflow } = leased.job;
        return this.#end(leased, defined.get(workflow!)!, answers.get(id) ?? null);
      }),
    );
    return jobs.length;
  }

  async #end({ job, leaseToken: token }: LeasedJob, definition: Definition, answer: JsonText | null): Promise<void> {
    const wait = waitOf(definition, job);
    if (wait === null) return;
    const lease = { id: job.id, token };
    const { checkpoints, settler } = this.deps;
    const timedOut = { ...lease, name: wait.signal, value: TIMED_OUT };
    const standing = answer ?? (await checkpoints.store(timedOut))?.value;
    // The job was cancelled, or somebody else holds it now.
    if (standing === undefined) return;
    const [value] = rawFields(standing, ['value']);
    if (value !== undefined) await settler.complete({ ...lease, result: asResult(value) });
    else if (wait.onTimeout === 'continue') await settler.complete({ ...lease, result: TIMED_OUT });
    else await this.#fail(lease, `no signal ${JSON.stringify(wait.signal)} came within ${wait.timeoutSecs} s`);
  }

  async #fail({ id, token }: { readonly id: string; readonly token: string }, error: string): Promise<void> {
    const failed = plainSettlement(id, token, 'failed');
    await this.deps.settler.settle({ ...failed, error, reason: 'non_retryable', failure: 'timed_out' });
  }
}

const waitOf = ({ steps, indexOf }: Definition, { workflow_step_id: name }: JobRecord) =>
  steps[indexOf.get(name ?? '') ?? -1]?.wait ?? null;

const asResult = (value: JsonText): JsonText => (value.startsWith('{') ? value : `{"value":${value}}`);
