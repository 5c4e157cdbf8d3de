import { randomUUID } from 'node:crypto';
import { JOB_STATUSES, TERMINAL_JOB_STATUSES, type JobStatus } from '@millrace/contract';
import { pino } from 'pino';
import { afterAll, describe, expect, it } from 'vitest';
import { isTerminal, JOB_EVENTS, nextState, TRANSITIONS, type JobEvent } from '../../../src/domain/job-state.js';
import { createEngine } from '../../../src/engine/engine.js';
import { plainSettlement } from '../../../src/engine/outcomes/settlement.js';
import type { JobRecord, LeasedJob } from '../../../src/domain/records.js';
import { engineMetrics } from '../../../src/wiring/engine-metrics.js';
import { Database } from '../../../src/store/connection/database.js';
import { Metrics } from '../../../src/telemetry/metrics.js';
import { controlClock } from '../../support/clock.js';
import { oneDatabase } from '../../support/database.js';
import { connectionOf } from '../../support/pooled.js';
import { newQueue } from '../kit.js';

const TENANT = 'tenant';
const LEASE_SECS = 30;

/** A job in the state that the test starts with, and the last token that anybody held for it. */
interface Subject {
  readonly id: string;
  readonly queue: string;
  readonly token: string;
}

/** Checks the SQL against the table in domain/job-state.ts. No loops run here, so nothing interferes with the test. */
describe('the state machine of a job', async () => {
  const database = await oneDatabase();
  const clock = await controlClock(database);
  const metrics = new Metrics();
  const db = new Database({ ...connectionOf(database.url), maxConnections: 4, logger: pino({ level: 'silent' }) });
  const { api, settler, maintenance } = createEngine({
    db,
    metrics: engineMetrics(metrics),
    tasks: [],
    defaultQueue: 'default',
    maxPayloadBytes: 4 * 1024 * 1024,
    retentionHours: null,
    ready: async () => true,
  });
  afterAll(async () => {
    metrics.close();
    await db.close();
    await database.drop();
  });

  const get = (id: string): Promise<JobRecord> => api.jobs.get(TENANT, id);
  const never = new AbortController().signal;
  const lease = async (queue: string): Promise<LeasedJob | undefined> =>
    (
      await api.worker.lease(
        { queue, maxJobs: 1, leaseSecs: LEASE_SECS, waitSecs: 0, workerId: null, slots: null, tasks: null },
        never,
      )
    )[0];
  /** Refusals are part of the table: nothing happens. */
  const refusable = (work: Promise<unknown>): Promise<unknown> =>
    work.catch((error: { code?: string }) => expect(['lease_lost', 'already_finished']).toContain(error.code));

  /** Brings a job into a state, with exactly as many retries left as the event is about. */
  async function bring(state: JobStatus, event: JobEvent): Promise<Subject> {
    const queue = newQueue();
    const retried = state === 'retrying' || (event === 'release_retry' && state !== 'pending');
    const maxRetries = (retried ? 1 : 0) + (event.endsWith('without_budget') ? 0 : 1);
    const spec = { task: 't', queue, payload: '{}', runAt: null, delaySecs: null, metadata: null };
    const config = {
      priority: 0,
      max_retries: maxRetries,
      timeout_secs: 300,
      retry_backoff: 'fixed' as const,
      retry_delay_secs: 0,
      retry_max_delay_secs: 0,
      jitter_factor: 0,
    };
    const { id } = await api.jobs.create(TENANT, { ...spec, config }, null);
    let token: string = randomUUID();
    const claim = async (): Promise<void> => {
      token = (await lease(queue))!.leaseToken;
    };
    if (retried) {
      await claim();
      await api.worker.fail(id, token, 'before', true);
    }
    if (state !== 'pending' && state !== 'retrying') await claim();
    if (state === 'completed') await api.worker.complete(id, token, '{}');
    if (state === 'failed') await api.worker.fail(id, token, 'for good', false);
    if (state === 'cancelled') await api.jobs.cancel(TENANT, id);
    return { id, queue, token };
  }

  const APPLY: Record<JobEvent, (subject: Subject) => Promise<unknown>> = {
    claim: ({ queue }) => lease(queue),
    complete: ({ id, token }) => refusable(api.worker.complete(id, token, '{"done":true}')),
    fail_with_budget: ({ id, token }) => refusable(api.worker.fail(id, token, 'failed', true)),
    fail_without_budget: ({ id, token }) => refusable(api.worker.fail(id, token, 'failed', true)),
    fail_permanently: ({ id, token }) => refusable(api.worker.fail(id, token, 'failed', false)),
    handler_missing: ({ id, token }) =>
      settler.settle({ ...plainSettlement(id, token, 'failed'), error: 'no handler', reason: 'handler_not_found' }),
    expire_with_budget: () => sweep(),
    expire_without_budget: () => sweep(),
    release_first: ({ id, token }) => settler.settle(plainSettlement(id, token, 'released')),
    release_retry: ({ id, token }) => settler.settle(plainSettlement(id, token, 'released')),
    cancel: ({ id }) => refusable(api.jobs.cancel(TENANT, id)),
  };

  async function sweep(): Promise<void> {
    await maintenance.reclaimExpired();
    await clock.advance(LEASE_SECS + 1);
    await maintenance.reclaimExpired();
  }

  const deadLetters = async (id: string): Promise<unknown[]> =>
    (await database.query('SELECT reason FROM millrace.dead_letters WHERE job_id = $1', [id])).map(
      ({ reason }) => reason,
    );

  describe.each(JOB_STATUSES)('in the state %s', (state) => {
    it.each(JOB_EVENTS)('on %s', async (event) => {
      const subject = await bring(state, event);
      const before = await get(subject.id);
      expect(before.status).toBe(state);

      await APPLY[event](subject);

      const after = await get(subject.id);
      const next = nextState(state, event);
      if (next === null) {
        expect(after).toEqual(before);
      } else {
        expect(after.status).toBe(next);
        expect(after.completed_at !== null).toBe(isTerminal(next));
        expect(after.next_retry_at !== null).toBe(next === 'retrying');
        expect(after.result !== null).toBe(next === 'completed');
        expect(after.delivery_count).toBe(before.delivery_count + (event === 'claim' ? 1 : 0));
        const consumed = event === 'fail_with_budget' || event === 'expire_with_budget' ? 1 : 0;
        expect(after.retry_count).toBe(before.retry_count + consumed);
        if (event.startsWith('release')) expect(after.scheduled_at).toBe(before.scheduled_at);
      }
      expect(await deadLetters(subject.id)).toHaveLength(after.status === 'failed' ? 1 : 0);
    });
  });

  it('gives each kind of failure its reason', async () => {
    const reasons: Partial<Record<JobEvent, string>> = {
      fail_without_budget: 'max_attempts_exceeded',
      expire_without_budget: 'max_attempts_exceeded',
      fail_permanently: 'non_retryable',
      handler_missing: 'handler_not_found',
    };
    for (const event of JOB_EVENTS) {
      const fails = TRANSITIONS[event].running?.to === 'failed';
      expect(event in reasons).toBe(fails);
      if (!fails) continue;
      const subject = await bring('running', event);
      await APPLY[event](subject);
      expect(await deadLetters(subject.id)).toEqual([reasons[event]]);
      expect(TRANSITIONS[event].running?.also).toContain(reasons[event]);
    }
  });

  it('reaches every state, and never leaves a terminal one', () => {
    for (const state of TERMINAL_JOB_STATUSES)
      for (const event of JOB_EVENTS) expect(nextState(state, event)).toBeNull();
    const reached = new Set(JOB_EVENTS.flatMap((event) => Object.values(TRANSITIONS[event]).map(({ to }) => to)));
    expect(reached).toEqual(new Set(JOB_STATUSES));
  });
});
