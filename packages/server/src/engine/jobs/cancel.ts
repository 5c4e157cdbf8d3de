import { MillraceError } from '../../domain/errors.js';
import { isTerminal } from '../../domain/job-state.js';
import type { Database } from '../../store/connection/database.js';
import type { Hub } from '../shared/hub.js';
import type { Counters } from '../shared/counters.js';
import type { Reads } from './reads.js';
import { AfterCommit } from '../outcomes/after-commit.js';
import { Cancellation } from '../outcomes/cancel.js';
import type { StepSettler } from '../workflows/step-settler.js';
import type { JobRecord } from '../../domain/records.js';

/**
 * Cancelling removes a job from whichever table it is in. Between reading and acting the job may move (be claimed,
 * retried or finished), so this reads again until it has acted or there is nothing left to cancel. The loop ends: in
 * every further round the job has made a transition, and it can make only so many.
 */
export class Canceller {
  constructor(
    private readonly db: Database,
    private readonly hub: Hub,
    private readonly counters: Counters,
    private readonly reads: Reads,
    private readonly steps: StepSettler,
  ) {}

  async cancel(tenant: string, id: string): Promise<void> {
    for (;;) {
      const job = await this.reads.job(tenant, id);
      if (isTerminal(job.status)) throw new MillraceError('already_finished', `the job is already ${job.status}`);
      if (await this.#try(job)) return;
    }
  }

  async #try(job: JobRecord): Promise<boolean> {
    const { id, tenant_id: tenant, workflow_id: workflowId, workflow_step_id: step } = job;
    if (workflowId !== null && step !== null) return this.steps.cancelStep({ tenant, id: workflowId }, step, id);
    const afterCommit = new AfterCommit();
    const cancellation = new Cancellation(this.db.run, tenant, afterCommit);
    const missed = await (job.status === 'running' ? cancellation.running([id]) : cancellation.waiting([id]));
    afterCommit.apply(this.hub, this.counters);
    return missed.length === 0;
  }
}
