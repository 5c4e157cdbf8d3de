/* eslint-disable @typescript-eslint/no-empty-object-type -- `{} extends In` asks whether every field is optional */
import { NotFoundError } from '../errors/call-errors.js';
import type { JsonObject } from '../json/object.js';
import { configOf, defined, mergePolicies, type Policy } from '../task/policy.js';
import { firingOf, scheduleOf, type Firing, type Schedule } from '../records/schedules.js';
import type { AnyTask, InOf, JobHandle } from '../task/types.js';
import type * as Wire from '../wire/index.js';
import { jobHandle } from './job-handle.js';
import { listing, listQuery, pageOf, type Listing, type ListFilter } from './listing.js';
import { create, read, segment, type Session } from './session.js';

/** A schedule: when, which task, and with what input. */
export type ScheduleDefinition<T extends AnyTask> = {
  /** Unique per tenant. */
  name: string;
  /** A crontab expression: `30 3 * * *`, six fields with the seconds first, or a nickname such as `@hourly`. */
  cron: string;
  /** The IANA name of the zone that the expression is meant in; default `UTC`. */
  timezone?: string;
  task: T;
} & Policy &
  ({} extends InOf<T> ? { input?: InOf<T> } : { input: InOf<T> });

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
  async put<T extends AnyTask>(definition: ScheduleDefinition<T>, { signal }: Signal = {}): Promise<Schedule> {
    const { name, cron, timezone, task, ...rest } = definition;
    const { input: payload = {}, ...policy } = rest as Policy & { input?: JsonObject };
    await task.check(payload);
    const merged = mergePolicies(task.policy, policy);
    const body: Wire.PutCron = {
      cron_expr: cron,
      ...(timezone !== undefined && { timezone }),
      task_name: task.name,
      payload,
      queue: merged.queue ?? task.queue,
      config: configOf(merged, payload),
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
  async trigger(name: string, { key, signal }: Signal & { key?: string } = {}): Promise<JobHandle<JsonObject>> {
    const { id } = await this.#find(name, signal);
    const request = { path: `/cron/${id}/trigger`, key, signal, keyFeature: 'idempotency' } as const;
    return jobHandle(this.#session, (await create<Wire.CronTriggered>(this.#session, request)).job_id);
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
