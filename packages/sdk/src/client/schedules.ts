/* eslint-disable @typescript-eslint/no-empty-object-type -- `{} extends In` asks whether every field is optional */
import { InvalidRequestError, NotFoundError } from '../errors/call-errors.js';
import type { JsonObject } from '../json/object.js';
import { configOf, defined, mergePolicies, type Policy } from '../task/policy.js';
import { firingOf, scheduleOf, type Firing, type Schedule } from '../records/schedules.js';
import type { AnyTask, InOf, JobHandle } from '../task/types.js';
import type * as Wire from '../wire/index.js';
import type { AnyWorkflow, WorkflowHandle, WorkflowIn, WorkflowOut } from '../workflow/types.js';
import { definitionFor } from '../workflow/workflow.js';
import { jobHandle } from './job-handle.js';
import { listing, listQuery, pageOf, type Listing, type ListFilter } from './listing.js';
import { create, read, segment, type Session } from './session.js';
import { workflowHandle } from './workflows.js';

/** When a schedule fires. */
interface Timetable {
  /** Unique per tenant. */
  name: string;
  /** A crontab expression: `30 3 * * *`, six fields with the seconds first, or a nickname such as `@hourly`. */
  cron: string;
  /** The IANA name of the zone that the expression is meant in; default `UTC`. */
  timezone?: string;
  /** `skip`: nothing is enqueued while the job or workflow of the last firing has not ended. Default `allow`. */
  overlap?: 'allow' | 'skip';
}

/** A schedule: when, which task, and with what input. */
export type ScheduleDefinition<T extends AnyTask> = Timetable & { task: T } & Policy &
  ({} extends InOf<T> ? { input?: InOf<T> } : { input: InOf<T> });

/** A schedule that starts workflows: when, which one, and with what input. */
export type WorkflowSchedule<W extends AnyWorkflow> = Timetable & {
  workflow: W;
  metadata?: JsonObject;
} & ({} extends WorkflowIn<W> ? { input?: WorkflowIn<W> } : { input: WorkflowIn<W> });

interface Signal {
  signal?: AbortSignal;
}

/** Schedules by name: `millrace.schedules`. */
export class Schedules {
  readonly #session: Session;

  constructor(session: Session) {
    this.#session = session;
  }

  /**
   * Creates the schedule, or brings the one of that name in line; running it at every start of a program is fine.
   * Whether it is paused stays as it is.
   *
   * @example await millrace.schedules.put({ name: 'nightly', cron: '30 3 * * *', task: resize, input: { image: 0 } });
   */
  put<T extends AnyTask>(definition: ScheduleDefinition<T>, options?: Signal): Promise<Schedule>;
  /**
   * The same for a schedule that starts workflows. The input is that of every workflow.
   *
   * @example await millrace.schedules.put({ name: 'nightly', cron: '@daily', workflow: report, input: { pages: 3 } });
   */
  put<W extends AnyWorkflow>(definition: WorkflowSchedule<W>, options?: Signal): Promise<Schedule>;
  async put(
    definition: Timetable & ({ task: AnyTask } | { workflow: AnyWorkflow }),
    { signal }: Signal = {},
  ): Promise<Schedule> {
    const { name, cron, timezone, overlap, ...rest } = definition;
    const body: Wire.PutCron = {
      cron_expr: cron,
      ...(timezone !== undefined && { timezone }),
      ...(overlap !== undefined && { overlap }),
      ...('workflow' in rest ? { workflow: await startedBy(rest) } : await enqueuedBy(rest)),
    };
    const path = `/cron/${segment(name)}`;
    const { body: put } = await this.#session.transport.call<Wire.CronCreated>({ method: 'PUT', path, body, signal });
    return scheduleOf(await read<Wire.Cron>(this.#session, `/cron/${segment(put.cron_id)}`, {}, signal));
  }

  /** The schedule of a name. */
  async get(name: string, { signal }: Signal = {}): Promise<Schedule> {
    return scheduleOf(await this.#find(name, signal));
  }

  /** Schedules, the newest first, or what fires next first. */
  list(filter: ListFilter & { nextFirst?: boolean } = {}): Listing<Schedule> {
    const query = { ...listQuery(filter), ...(filter.nextFirst === true && { order_by: 'next_run_at ASC' }) };
    return listing(filter.limit, async (cursor) => {
      const page = await read<Wire.CronPage>(this.#session, '/cron', { ...query, cursor }, filter.signal);
      return pageOf(page, page.crons, scheduleOf);
    });
  }

  /** No firings until it is resumed. */
  pause(name: string, options?: Signal): Promise<void> {
    return this.#change(name, 'pause', options);
  }

  /** Fires from its next occurrence on; those missed meanwhile are not made up for. */
  resume(name: string, options?: Signal): Promise<void> {
    return this.#change(name, 'resume', options);
  }

  async delete(name: string, { signal }: Signal = {}): Promise<void> {
    const path = `/cron/${(await this.#find(name, signal)).id}`;
    await this.#session.transport.call({ method: 'DELETE', path, signal, doneIf: ['not_found'] });
  }

  /** Its next occurrences; ten of them unless told otherwise. */
  async next(name: string, count?: number, { signal }: Signal = {}): Promise<Date[]> {
    const { id } = await this.#find(name, signal);
    const body = await read<Wire.NextRuns>(this.#session, `/cron/${id}/next`, defined({ count }), signal);
    return body.next_run_at.map((text) => new Date(text));
  }

  /** Enqueues its job now, beside the timetable. */
  trigger(name: string, options?: TriggerOptions): Promise<JobHandle<JsonObject>>;
  /** Starts its workflow now, beside the timetable. */
  trigger<W extends AnyWorkflow>(
    name: string,
    options: TriggerOptions & { workflow: W },
  ): Promise<WorkflowHandle<WorkflowOut<W>>>;
  async trigger(
    name: string,
    { key, signal, workflow }: TriggerOptions & { workflow?: AnyWorkflow } = {},
  ): Promise<JobHandle<JsonObject> | WorkflowHandle<unknown>> {
    const found = await this.#find(name, signal);
    checkKind(found, workflow);
    const request = { path: `/cron/${found.id}/trigger`, key, signal, keyFeature: 'idempotency' } as const;
    const fired = await create<Wire.CronTriggered>(this.#session, request);
    if (workflow !== undefined && fired.workflow_id !== undefined)
      return workflowHandle(this.#session, workflow, fired.workflow_id);
    return jobHandle<JsonObject>(this.#session, fired.job_id ?? '');
  }

  /** The last thousand firings, the newest first. */
  firings(name: string, filter: ListFilter = {}): Listing<Firing> {
    return listing(filter.limit, async (cursor) => {
      const { id } = await this.#find(name, filter.signal);
      const query = { ...listQuery(filter), cursor };
      const page = await read<Wire.CronFiringPage>(this.#session, `/cron/${id}/firings`, query, filter.signal);
      return pageOf(page, page.firings, firingOf);
    });
  }

  /** When a schedule with this expression would fire. */
  async preview(cron: string, { timezone, signal }: Signal & { timezone?: string } = {}): Promise<Date[]> {
    const query = defined({ expr: cron, timezone });
    const body = await read<Wire.CronPreview>(this.#session, '/cron/preview', query, signal);
    return body.next.map((text) => new Date(text));
  }

  async #change(name: string, change: 'pause' | 'resume', { signal }: Signal = {}): Promise<void> {
    const { id } = await this.#find(name, signal);
    await this.#session.transport.call({ method: 'POST', path: `/cron/${id}/${change}`, signal });
  }

  /** The service knows schedules by id; programs know them by name. */
  async #find(name: string, signal?: AbortSignal): Promise<Wire.Cron> {
    for (let cursor: string | undefined; ;) {
      const page = await read<Wire.CronPage>(this.#session, '/cron', { limit: 100, cursor }, signal);
      const found = page.crons.find((cron) => cron.name === name);
      if (found !== undefined) return found;
      if (!page.has_more || page.next_cursor === undefined) break;
      cursor = page.next_cursor;
    }
    throw new NotFoundError(`there is no schedule ${JSON.stringify(name)}`, { code: 'not_found', status: 404 });
  }
}

interface TriggerOptions extends Signal {
  /** Makes the call repeatable: the same key fires once. */
  key?: string;
}

/** What a schedule does is known before it is triggered: nothing has happened when this is thrown. */
function checkKind({ name, workflow }: Wire.Cron, wanted: AnyWorkflow | undefined): void {
  // A server before 0.3 knows no schedules of workflows.
  const started = workflow?.name;
  if (started === wanted?.name) return;
  const does = started === undefined ? 'enqueues a job' : `starts the workflow ${JSON.stringify(started)}`;
  const hint = started === undefined ? 'leave `workflow` out' : 'give that one as `workflow`';
  throw new InvalidRequestError(`the schedule ${JSON.stringify(name)} ${does}: ${hint}`, { code: 'invalid_request' });
}

async function enqueuedBy({ task, ...rest }: { task: AnyTask }): Promise<Partial<Wire.PutCron>> {
  const { input: payload = {}, ...policy } = rest as Policy & { input?: JsonObject };
  await task.check(payload);
  const merged = mergePolicies(task.policy, policy);
  return { task_name: task.name, payload, queue: merged.queue ?? task.queue, config: configOf(merged, payload) };
}

async function startedBy({ workflow, ...rest }: { workflow: AnyWorkflow }): Promise<Wire.CreateWorkflow> {
  const { input = {}, metadata } = rest as { input?: unknown; metadata?: JsonObject };
  return {
    name: workflow.name,
    ...(await definitionFor(workflow, input)),
    ...(metadata !== undefined && { metadata }),
  };
}
