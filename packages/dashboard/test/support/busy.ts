import { expect } from 'vitest';
import { store, suspend } from '../../../server/test/engine/durable/kit.js';
import { createJob, fail, leaseOne, type Leased } from '../../../server/test/engine/kit.js';
import type { Client } from '../../../server/test/support/client.js';
import { controlClock, type Clock } from '../../../server/test/support/clock.js';
import { cloneDatabase, type TestDatabase } from '../../../server/test/support/database.js';
import { KEY_A, KEY_B, startTestServer, type TestServer } from '../../../server/test/support/server.js';
import { until } from '../../../server/test/support/until.js';

/** Who has jobs here: names that one reads gladly, unlike those of tests. */
const KEY_C = 'key-of-a-third-tenant-4b7e';
export const TENANTS = new Map([
  [KEY_A, 'acme'],
  [KEY_B, 'globex'],
  [KEY_C, 'initech'],
]);

const STEP_SECS = 15;
/** As many steps as the shortest plot has, and as many before: what is shown is compared with that. */
const STEPS = 2 * 60;
/** So many of them go by while single things are put up. */
const LAST_STEPS = 10;
/** A mail server that was away for a minute, six minutes ago. */
const OUTAGE = { from: 93, to: 97 } as const;

interface Line {
  readonly queue: string;
  readonly task: string;
  /** How many jobs per step, at about this rhythm. */
  readonly jobs: number;
  readonly rhythm: number;
  readonly workers: readonly string[];
  readonly error: string;
}

const LINES: readonly Line[] = [
  {
    queue: 'mail',
    task: 'send_receipt',
    jobs: 34,
    rhythm: 9,
    workers: ['mail-7f2a', 'mail-c91e'],
    error: 'smtp: connection refused to 10.0.3.12:25',
  },
  {
    queue: 'payments',
    task: 'charge_card',
    jobs: 11,
    rhythm: 5,
    workers: ['pay-03bd'],
    error: 'card declined: expired_card',
  },
  {
    queue: 'images',
    task: 'resize_image',
    jobs: 22,
    rhythm: 14,
    workers: ['img-51aa', 'img-8e04'],
    error: 'decode: unexpected end of file at byte 347006',
  },
  {
    queue: 'webhooks',
    task: 'deliver_webhook',
    jobs: 18,
    rhythm: 7,
    workers: ['hook-2d6c'],
    error: 'POST https://hooks.example.com/orders answered 502',
  },
];
const SHARES: readonly (readonly [key: string, share: number])[] = [
  [KEY_A, 1],
  [KEY_B, 0.45],
  [KEY_C, 0.2],
];

export interface Past {
  readonly database: TestDatabase;
  readonly clock: Clock;
  /** Lets another step go by. */
  readonly tick: () => Promise<void>;
}

/** A database in which half an hour of a busy service has gone by, up to shortly before now. */
export async function busyDatabase(): Promise<Past> {
  const database = await cloneDatabase();
  const clock = await controlClock(database);
  const stepMs = STEP_SECS * 1000;
  const begin = Math.floor(Date.now() / stepMs - STEPS) * stepMs;
  await clock.advance((begin - Date.now()) / 1000);
  let step = 0;
  const tick = async (): Promise<void> => {
    // What a process did is written when it stops, for the middle of what is over: one for each step of the plots.
    const server = await startTestServer({ config: { mode: 'api', apiKeys: TENANTS }, database });
    await playStep(server, clock, step);
    step += 1;
    const ends = begin + step * stepMs + 1000;
    await clock.advance(Math.max(0, (ends - (await clock.now()).getTime()) / 1000));
    await server.stop();
  };
  while (step < STEPS - LAST_STEPS) await tick();
  return { database, clock, tick };
}

async function playStep(server: TestServer, clock: Clock, step: number): Promise<void> {
  const isOutage = step >= OUTAGE.from && step <= OUTAGE.to;
  // Whatever is written from here on, also by the clock of the process, belongs to this step.
  await clock.advance(8);
  for (const [key, share] of SHARES) {
    const jobs = LINES.flatMap(({ queue, task, jobs: most, rhythm }) => {
      const count = Math.round(share * most * (0.8 + 0.45 * Math.sin((step + most) / rhythm)));
      return Array.from({ length: count }, (_, n) => ({
        task_name: task,
        payload: { order: step * 100 + n },
        metadata: { source: n % 3 === 0 ? 'signup' : 'checkout' },
        config: { queue, max_retries: n % 4 === 0 ? 0 : 2, retry_delay_secs: 20 },
      }));
    });
    // Of everything something, wherever one looks at the list.
    const mixed = jobs.map((job, n) => [(n * 37) % jobs.length, job] as const).sort(([one], [other]) => one - other);
    const reply = await server.as(key).post('/api/v1/jobs/batch', { jobs: mixed.map(([, job]) => job) });
    expect(reply.status, reply.text).toBe(201);
  }
  // They wait for a while, longer when there is more to do, and run for a while.
  await clock.advance(0.3 + (isOutage ? 4 : 0.5 + 0.5 * Math.sin(step / 9)));
  for (const [index, line] of LINES.entries()) {
    const slow = isOutage && line.queue === 'mail';
    const leased = await Promise.all(
      line.workers.map((name) =>
        leaseSome(server.worker, line, name, slow ? 12 : Math.ceil(110 / line.workers.length)),
      ),
    );
    await clock.advance(0.15 + 0.2 * index);
    const reports = leased.flat().map(({ job, lease_token }, n) => ({
      ...{ job_id: job.id, lease_token },
      ...(slow || (n + step) % 23 === 7
        ? { outcome: 'failed', error: line.error, details: { name: 'Error', stack: stackOf(line) } }
        : { outcome: 'completed', result: { ok: true } }),
    }));
    if (reports.length > 0) expect((await server.worker.post('/api/v1/reports', { reports })).status).toBe(200);
  }
}

async function leaseSome(
  worker: Client,
  { queue, task }: Line,
  name: string,
  most: number,
  lease_secs = 60,
): Promise<Leased[]> {
  const request = { max_jobs: Math.min(most, 100), worker_id: name, slots: 20, tasks: [task], lease_secs };
  const { body, status, text } = await worker.post(`/api/v1/queues/${queue}/lease`, request);
  expect(status, text).toBe(200);
  return body.jobs as Leased[];
}

const stackOf = ({ task, error }: Line): string =>
  `Error: ${error}\n    at ${task} (/app/tasks/${task}.js:48:11)\n    at async Worker.run (/app/worker.js:71:24)`;

/** What the pictures of single things show. */
export interface Sights {
  readonly job: string;
  readonly workflow: string;
  readonly deadLetter: string;
  readonly operation: string;
}

/** What is under way at the end of it: jobs that run, wait, ask and were paused, and workflows in every state. */
export async function furnish(server: TestServer, { clock, tick }: Past): Promise<Sights> {
  const { a, worker, admin } = server;
  for (const [name, cron_expr] of [
    ['nightly-report', '30 3 * * *'],
    ['sync-inventory', '*/10 * * * *'],
    ['digest', '0 7 * * 1-5'],
  ]) {
    await a.post('/api/v1/cron', { name, cron_expr, task_name: 'build_report', queue: 'reports' });
  }
  const [{ id: cron }] = (await a.get('/api/v1/cron')).body.crons;
  await a.post(`/api/v1/cron/${cron}/trigger`);
  await later(a, 'send_receipt', 'mail', 25);
  await later(a, 'index_document', 'search', 42, 0);
  await ask(a, worker);
  const job = await eventfulJob(a, worker, clock, tick);
  const workflow = await workflows(a, worker);
  await admin.post('/api/v1/admin/queues/reports/pause', { reason: 'the warehouse is being moved until 18:00' });
  const filter = { queue_name: 'images', replayed: false };
  const { body } = await a.post('/api/v1/operations', { action: 'replay_dead_letters', filter });
  const operation = body.operation_id as string;
  await until(async () => (await a.get(`/api/v1/operations/${operation}`)).body.status === 'completed');
  await beginWork(a, worker);
  await tick();
  const letters = (await a.get('/api/v1/dlq?limit=1')).body.dead_letters;
  return { job, workflow, operation, deadLetter: String(letters[0].id) };
}

/** Each worker has some of its slots in use for as long as pictures are taken. */
async function beginWork(a: Client, worker: Client): Promise<void> {
  for (const [index, line] of LINES.entries()) {
    await later(a, line.task, line.queue, 6, 0);
    for (const [n, name] of line.workers.entries()) {
      await leaseSome(worker, line, name, 1 + ((index + 2 * n) % 3), 3600);
    }
  }
}

const later = (a: Client, task_name: string, queue: string, count: number, delay_secs = 600) =>
  a.post('/api/v1/jobs/batch', {
    jobs: Array.from({ length: count }, () => ({ task_name, config: { queue }, delay_secs })),
  });

/** A job that waits for a person. */
async function ask(a: Client, worker: Client): Promise<void> {
  await createJob(a, 'refunds', { task_name: 'refund_order' });
  const leased = await leaseOne(worker, 'refunds');
  await store(worker, leased, 'find charge', { id: 'ch_3Qx', cents: 12_000 });
  const choices = [
    { label: 'Approve', value: { approved: true } },
    { label: 'Refuse', value: { approved: false } },
  ];
  const wait = { signal: { name: 'approval' }, ask: { text: 'Refund 120.00 EUR for order 70231?', choices } };
  await suspend(worker, leased, { checkpoint: 'approved?', delay_secs: 86_400, wait });
}

async function take(worker: Client, queue: string, worker_id: string): Promise<Leased> {
  const { body } = await worker.post(`/api/v1/queues/${queue}/lease`, { worker_id, lease_secs: 600, wait_secs: 10 });
  return body.jobs[0] as Leased;
}

/** A job in its third attempt: with errors, log lines and progress. */
async function eventfulJob(a: Client, worker: Client, clock: Clock, tick: () => Promise<void>): Promise<string> {
  const config = { max_retries: 4, retry_delay_secs: 20, retry_backoff: 'fixed', jitter_factor: 0 };
  const id = await createJob(a, 'video', {
    task_name: 'render_video',
    payload: { video: 'v-19', preset: '1080p' },
    config,
  });
  const say = async (leased: Leased, level: string, message: string, done: number): Promise<void> => {
    const logs = [{ at: (await clock.now()).toISOString(), level, message, fields: { frame: done } }];
    const body = { lease_token: leased.lease_token, extend_secs: 600, logs, progress: { done, total: 4200 } };
    expect((await worker.post(`/api/v1/jobs/${id}/heartbeat`, body)).status).toBe(200);
    await clock.advance(2);
  };
  for (const [name, error] of [
    ['render-a1', 'ffmpeg: No space left on device'],
    ['render-b2', 'ffmpeg exited with code 137'],
  ] as const) {
    const leased = await take(worker, 'video', name);
    await say(leased, 'info', 'decoding', 0);
    await say(leased, 'warn', 'falling back to software encoding', 900);
    await fail(worker, leased, {
      error,
      details: { name: 'RenderError', stack: `RenderError: ${error}\n    at encode (/app/render.js:112:9)` },
    });
    await tick();
    await tick();
  }
  const leased = await take(worker, 'video', 'render-a1');
  for (const done of [300, 900, 1500, 2100, 2600]) {
    await say(leased, 'info', `frame ${done} written`, done);
    await tick();
  }
  return id;
}

/** Orders in several states; answers with the one that failed. */
async function workflows(a: Client, worker: Client): Promise<string> {
  const create = async (name: string): Promise<string> => {
    const config = { max_retries: 0 };
    const step = (step_name: string, ...depends_on: string[]) => ({
      ...{ name: step_name, task_name: step_name.split(' ')[0], queue: 'orders', depends_on, config },
    });
    const parts = ['320', '640', '1280'].map((width) => step(`resize ${width}`, 'fetch'));
    const steps =
      name === 'upload'
        ? [step('fetch'), ...parts, step('publish', ...parts.map((part) => part.name))]
        : [
            ...[step('reserve'), step('charge'), step('ship', 'reserve', 'charge')],
            ...[step('receipt', 'charge'), step('mail', 'ship')],
          ];
    const reply = await a.post('/api/v1/workflows', { name, context: { order: 70_231, total: 249.9 }, steps });
    return reply.body.workflow_id as string;
  };
  const end = async (most: number, isBad: (task: string) => boolean): Promise<void> => {
    for (let n = 0; n < most; n++) {
      const { body } = await worker.post('/api/v1/queues/orders/lease', { worker_id: 'orders-11fe', wait_secs: 1 });
      const [leased] = body.jobs as (Leased & { job: { task_name: string } })[];
      if (leased === undefined) return;
      const { job, lease_token } = leased;
      const outcome = isBad(job.task_name)
        ? { outcome: 'failed', error: 'card declined: insufficient_funds (ch_3Qx9)', retryable: false }
        : { outcome: 'completed', result: { ok: true } };
      await worker.post('/api/v1/reports', { reports: [{ job_id: job.id, lease_token, ...outcome }] });
    }
  };
  for (const name of ['order', 'upload', 'order']) {
    await create(name);
    await end(20, () => false);
  }
  const failed = await create('order');
  await end(20, (task) => task === 'charge');
  await create('upload');
  await end(2, () => false);
  await create('order');
  return failed;
}
