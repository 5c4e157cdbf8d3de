import { DEFAULT_JOB_CONFIG } from '@millrace/contract';
import { notFound } from '../../domain/errors.js';
import { unlessWaiting } from '../../domain/reserved-queue.js';
import { copiedConfig } from '../../domain/job-config.js';
import { isUuid } from '../../domain/ids.js';
import { markedAsKept, type KeptCheckpoints } from '../../domain/kept-checkpoints.js';
import { withMembers } from '../../domain/json-members.js';
import type { JobRecord, JobSpec } from '../../domain/records.js';
import type { Created } from '../api.js';
import { keepCheckpoints } from '../durable/checkpoints.js';
import type { Enqueuer } from './enqueue.js';
import type { Reads } from './reads.js';

/**
 * A fresh copy of a job, whatever state that is in. What is copied never changes after a job was created, so reading it
 * and creating the copy need not be one statement. The copy of a step's job carries the context that the step received,
 * and belongs to no workflow.
 */
export class Rerunner {
  constructor(
    private readonly reads: Reads,
    private readonly enqueuer: Enqueuer,
  ) {}

  async rerun(tenant: string, id: string, key: string | null, kept: KeptCheckpoints | null): Promise<Created> {
    if (!isUuid(id)) throw notFound('job');
    const { ids, replayed } = await this.enqueuer.createOnce(
      key === null ? null : { tenant, key, kind: `rerun ${id.toLowerCase()}` },
      tenant,
      async (execute) => [copyOf(await this.reads.job(tenant, id, execute), kept)],
      kept && ((execute, [to]) => keepCheckpoints(execute, tenant, [{ from: id, to: to! }], kept)),
    );
    return { id: ids[0]!, replayed };
  }
}

const copyOf = (job: JobRecord, kept: KeptCheckpoints | null): JobSpec => ({
  task: job.task_name,
  queue: unlessWaiting(job.queue_name),
  payload: job.payload,
  config: job.config === DEFAULT_JOB_CONFIG ? null : copiedConfig(job.config),
  runAt: null,
  delaySecs: null,
  metadata: markedAsKept(withMembers(job.metadata, [['rerun_of', JSON.stringify(job.id)]]), kept),
});
