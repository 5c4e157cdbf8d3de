import { setTimeout as delay } from 'node:timers/promises';
import type { Random } from '@millrace/tools-shared';
import { ApiError, type Api } from './api.js';
import { PAUSED_SCHEDULE, SCHEDULES } from './schedules.js';
import { oddJob, someJob } from './tasks.js';
import { largeWorkflow, someWorkflow } from './workflows.js';

export interface Tenant {
  readonly name: string;
  readonly api: Api;
  /** Its share of all jobs. */
  readonly share: number;
}

export interface TrafficOptions {
  readonly tenant: Tenant;
  /** Jobs per minute. */
  readonly rate: number;
  readonly random: Random;
  readonly signal: AbortSignal;
  readonly say: (text: string) => void;
}

const TICK_MS = 1000;
const WORKFLOW_SHARE = 0.02;
const ODD_SHARE = 0.03;
const CANCEL_SHARE = 0.01;
const FILL_BATCH = 1000;
/** The tide: what arrives per second rises and falls, so that the plots are not flat. */
const TIDE_MS = 240_000;

/** What a tenant starts with: its schedules, some of everything, and a few jobs for later. */
export async function furnish({ tenant: { api }, random }: TrafficOptions, large: boolean): Promise<void> {
  for (const { name, ...schedule } of SCHEDULES) {
    await api.call('PUT', `/cron/${encodeURIComponent(name)}`, JSON.stringify(schedule));
  }
  const { crons } = await api.call<{ crons: { id: string; name: string; enabled: boolean }[] }>('GET', '/cron');
  const paused = crons.find(({ name, enabled }) => name === PAUSED_SCHEDULE && enabled);
  if (paused) await api.call('POST', `/cron/${paused.id}/pause`);
  const jobs = [
    ...Array.from({ length: 60 }, () => someJob(random)),
    ...Array.from({ length: 12 }, () => oddJob(random)),
  ];
  await api.call('POST', '/jobs/batch', `{"jobs":[${jobs.join(',')}]}`);
  for (let i = 0; i < 6; i++) await api.call('POST', '/workflows', someWorkflow(random));
  if (large) await api.call('POST', '/workflows', largeWorkflow(random));
}

/** Creates small jobs as fast as the server takes them; its own handlers complete them. */
export async function fill({ tenant: { api }, random, say }: TrafficOptions, count: number): Promise<void> {
  for (let done = 0; done < count;) {
    const size = Math.min(FILL_BATCH, count - done);
    const jobs = Array.from({ length: size }, () => `{"task_name":"echo","payload":{"n":${random.below(1_000_000)}}}`);
    await api.call('POST', '/jobs/batch', `{"jobs":[${jobs.join(',')}]}`);
    done += size;
    if (done % 50_000 < FILL_BATCH) say(`filled ${done} of ${count}`);
  }
}

/** Creates jobs and workflows, and cancels a few of them, until `signal` is aborted. */
export async function keepMoving(options: TrafficOptions): Promise<void> {
  const { rate, signal } = options;
  let owed = 0;
  for (;;) {
    const tide = 1 + 0.6 * Math.sin((2 * Math.PI * Date.now()) / TIDE_MS);
    owed += (rate * tide * TICK_MS) / 60_000;
    const due = Math.floor(owed);
    owed -= due;
    if (due > 0) await tick(options, due).catch((error: unknown) => complain(error, options));
    await delay(TICK_MS, undefined, { signal });
  }
}

/** A server that refuses something does not end the play: it may be what somebody wants to look at. */
function complain(error: unknown, { say }: TrafficOptions): void {
  if (!(error instanceof ApiError)) throw error;
  say(error.message);
}

async function tick({ tenant: { api }, random }: TrafficOptions, due: number): Promise<void> {
  const jobs = Array.from({ length: due }, () => (random.chance(ODD_SHARE) ? oddJob(random) : someJob(random)));
  const { job_ids } = await api.call<{ job_ids: string[] }>('POST', '/jobs/batch', `{"jobs":[${jobs.join(',')}]}`);
  if (random.chance(WORKFLOW_SHARE * due)) await api.call('POST', '/workflows', someWorkflow(random));
  const victim = random.pick(job_ids);
  if (random.chance(CANCEL_SHARE * due)) await api.call('POST', `/jobs/${victim}/cancel`).catch(ignoreRefusal);
}

/** A job may have ended before it could be cancelled. */
function ignoreRefusal(error: unknown): void {
  if (!(error instanceof ApiError) || error.status !== 409) throw error;
}
