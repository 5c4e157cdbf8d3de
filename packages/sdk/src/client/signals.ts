import { dateOf } from '../records/dates.js';
import { wholeSeconds, type Duration } from '../shared/duration.js';
import { defined } from '../task/policy.js';
import type * as Wire from '../wire/index.js';
import { listing, pageOf, type Listing } from './listing.js';
import { create, read, segment, type Session } from './session.js';

/** Options of sending a signal. */
export interface SignalOptions {
  /** How long it is kept if nobody waits for it yet; seven days unless said otherwise, thirty at most. */
  ttl?: Duration;
  /** Makes the call repeatable across processes: one signal per key. */
  idempotencyKey?: string;
  signal?: AbortSignal;
}

/** Which waits a list holds. */
export interface WaitFilter {
  /** The name of the signal that is waited for. */
  name?: string;
  key?: string;
  /** Only those that ask a person something. */
  ask?: boolean;
  limit?: number;
  signal?: AbortSignal;
}

/** A job that waits for a signal. */
export interface Wait {
  jobId: string;
  task: string;
  name: string;
  key: string;
  ask: Wire.Ask | null;
  since: Date;
  until: Date;
  /** The workflow that it is a step of, and the name of the step. */
  workflowId: string | null;
  workflowStep: string | null;
}

/** What durable jobs wait for: `millrace.signals`. */
export class Signals {
  readonly #session: Session;

  constructor(session: Session) {
    this.#session = session;
  }

  /**
   * Sends a signal to the oldest job that waits for it. If none does, it is kept for the next: it makes no difference
   * which of the two comes first.
   *
   * @example await millrace.signals.send('paid', 'order-7', { cents: 1200 });
   */
  send(name: string, key: string, value: unknown = null, options: SignalOptions = {}): Promise<{ delivered: boolean }> {
    const { ttl, idempotencyKey, signal } = options;
    const body: Wire.SignalRequest = { name, key, value, ...(ttl !== undefined && { ttl_secs: wholeSeconds(ttl) }) };
    return this.#send('/signals', body, idempotencyKey, signal);
  }

  /**
   * Sends a signal to one job, which need not wait for it yet.
   *
   * @example await millrace.signals.sendToJob(job.id, 'approval', { approved: true });
   * @throws AlreadyFinishedError if the job has ended
   */
  sendToJob(
    id: string,
    name: string,
    value: unknown = null,
    { idempotencyKey, signal }: Omit<SignalOptions, 'ttl'> = {},
  ): Promise<{ delivered: boolean }> {
    return this.#send(`/jobs/${segment(id)}/signals/${segment(name)}`, { value }, idempotencyKey, signal);
  }

  /**
   * Sends a signal to one workflow, of which no step need wait for it yet.
   *
   * @example await millrace.signals.sendToWorkflow(run.id, 'approved', { by: 'mia' });
   * @throws AlreadyFinishedError if the workflow has ended
   */
  sendToWorkflow(
    id: string,
    name: string,
    value: unknown = null,
    { idempotencyKey, signal }: Omit<SignalOptions, 'ttl'> = {},
  ): Promise<{ delivered: boolean }> {
    return this.#send(`/workflows/${segment(id)}/signals/${segment(name)}`, { value }, idempotencyKey, signal);
  }

  /** Jobs that wait for signals, the newest first. */
  waits(filter: WaitFilter = {}): Listing<Wait> {
    const { name, key, ask, limit, signal } = filter;
    return listing(limit, async (cursor) => {
      const page = await read<Wire.Waits>(this.#session, '/waits', defined({ name, key, ask, cursor }), signal);
      return pageOf(page, page.waits, waitOf);
    });
  }

  async #send(
    path: string,
    body: object,
    key: string | undefined,
    signal: AbortSignal | undefined,
  ): Promise<{ delivered: boolean }> {
    const { delivered } = await create<Wire.SignalAccepted>(this.#session, { path, body, key, signal });
    return { delivered };
  }
}

const waitOf = ({ job_id: jobId, task_name: task, name, key, ask, ...wait }: Wire.Wait): Wait => ({
  ...{ jobId, task, name, key, ask },
  since: dateOf(wait.since),
  until: dateOf(wait.until),
  workflowId: wait.workflow_id ?? null,
  workflowStep: wait.workflow_step_id ?? null,
});
