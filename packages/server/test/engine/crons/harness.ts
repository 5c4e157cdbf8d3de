import { expect } from 'vitest';
import { CronFirer } from '../../../src/engine/crons/cron-firer.js';
import type { WorkflowFirings } from '../../../src/engine/crons/workflow-firings.js';
import { Hub } from '../../../src/engine/shared/hub.js';
import { Counters, type EngineMetrics } from '../../../src/engine/shared/counters.js';
import { Database } from '../../../src/store/connection/database.js';
import type { Statement } from '../../../src/store/sql.js';
import { createLogger } from '../../../src/telemetry/logger.js';
import type { Client } from '../../support/client.js';
import type { Clock } from '../../support/clock.js';
import type { TestDatabase } from '../../support/database.js';
import { connectionOf } from '../../support/pooled.js';
import { TENANT_A } from '../../support/server.js';

/** A schedule as the API shows it. */
export interface ShownCron {
  readonly id: string;
  readonly name: string;
  readonly cron_expr: string;
  readonly timezone: string;
  readonly enabled: boolean;
  readonly next_run_at: string | null;
  readonly last_enqueued_at: string | null;
  readonly created_at: string;
}

export interface ShownFiring {
  readonly occurrence: string;
  readonly fired_at: string;
  readonly kind: string;
  readonly job_id: string;
  readonly workflow_id: string | null;
}

/** What a test does with schedules through the API of one tenant. */
export interface CronsOfTenant {
  create(fields: object): Promise<string>;
  put(name: string, fields: object): Promise<string>;
  /** The id of the job. */
  trigger(id: string): Promise<string>;
  get(id: string): Promise<ShownCron>;
  act(id: string, what: 'pause' | 'resume'): Promise<void>;
  firings(id: string, query?: string): Promise<ShownFiring[]>;
  /** The jobs that a schedule enqueued, oldest first. */
  jobs(id: string): Promise<any[]>;
}

export function cronsOf(client: Client): CronsOfTenant {
  let named = 0;
  const ok = async (method: string, path: string, body?: unknown): Promise<any> => {
    const reply = await client.send(method, path, body === undefined ? {} : { body });
    expect(reply.status, `${method} ${path}: ${reply.text}`).toBeLessThan(300);
    return reply.body;
  };
  return {
    create: async (fields) =>
      (await ok('POST', '/api/v1/cron', { name: `schedule-${++named}`, task_name: 'echo', ...fields })).cron_id,
    put: async (name, fields) =>
      (await ok('PUT', `/api/v1/cron/${encodeURIComponent(name)}`, { task_name: 'echo', ...fields })).cron_id,
    trigger: async (id) => (await ok('POST', `/api/v1/cron/${id}/trigger`)).job_id,
    get: (id) => ok('GET', `/api/v1/cron/${id}`),
    act: (id, what) => ok('POST', `/api/v1/cron/${id}/${what}`),
    firings: async (id, query = '?limit=100') => (await ok('GET', `/api/v1/cron/${id}/firings${query}`)).firings,
    jobs: async (id) => {
      const jobs: any[] = [];
      for (let cursor = ''; ;) {
        const page = await ok('GET', `/api/v1/jobs?limit=100&order_by=created_at+ASC${cursor}`);
        jobs.push(...page.jobs);
        if (!page.has_more) return jobs.filter((job) => job.metadata.cron_id === id).toSorted(byOccurrence);
        cursor = `&cursor=${page.next_cursor}`;
      }
    },
  };
}

/** Jobs of one round were created at the same moment, so the list has them in any order. */
const byOccurrence = (a: any, b: any): number => (sortKey(a) < sortKey(b) ? -1 : 1);
const sortKey = (job: any): string => `${job.created_at} ${job.idempotency_key}`;

/** Moves the clock to just after an instant. */
export async function advanceTo(clock: Clock, instant: string | null): Promise<void> {
  const ms = Date.parse(instant!) - (await clock.now()).getTime();
  await clock.advance(ms / 1000 + 0.01);
}

/** Schedules that start workflows are tested on a whole server. */
const NO_WORKFLOWS = null as unknown as WorkflowFirings;

export interface TestFirer {
  readonly firer: CronFirer;
  readonly fired: { readonly kind: string; readonly lagSeconds: number }[];
  /** How many times each statement has run so far. */
  readonly statements: Record<string, number>;
  close(): Promise<void>;
}

/**
 * The firer alone, without a loop around it, so that a test decides when it looks. `beforeFiring` runs between looking
 * and firing: it stands for what happens while a process is stopped at that point.
 */
export function createFirer(
  database: TestDatabase,
  beforeFiring: () => Promise<void> = async () => undefined,
  beforePausing: () => Promise<void> = async () => undefined,
): TestFirer {
  const logger = createLogger({ level: 'silent', format: 'json' });
  const db = new Database({ ...connectionOf(database.homeOf(TENANT_A).url), maxConnections: 3, logger });
  const fired: { kind: string; lagSeconds: number }[] = [];
  const metrics = {
    created: () => undefined,
    happened: () => undefined,
    cronFired: (kind: string, lagSeconds: number) => void fired.push({ kind, lagSeconds }),
  };
  const statements: Record<string, number> = {};
  const stoppable = {
    run: async (statement: Statement) => {
      statements[statement.name] = (statements[statement.name] ?? 0) + 1;
      if (statement.name === 'fire_crons') await beforeFiring();
      if (statement.name === 'pause_cron') await beforePausing();
      return db.run(statement);
    },
  };
  const counters = new Counters(metrics as unknown as EngineMetrics);
  const firer = new CronFirer(stoppable as unknown as Database, new Hub(), counters, NO_WORKFLOWS);
  return { firer, fired, statements, close: () => db.close() };
}
