import { until } from '@millrace/tools-shared';
import type { Stage } from './case.js';
import type { Client } from './stage/service.js';

const BATCH = 1000;
/** Batches under way at once. */
const LANES = 4;
/** Of every hundred jobs: so many are run and complete, so many fail for good; the rest waits for workers. */
const COMPLETED = 60;
const FAILED = 2;
const WAITING_QUEUES = ['mail', 'images', 'reports', 'billing'] as const;
const TASKS = ['send_mail', 'resize', 'build_report', 'charge_card', 'sync'] as const;
const ERRORS = [
  'smtp: mailbox 17 refused',
  'card declined',
  'timed out after 30 s',
  'no such file: report.csv',
] as const;

/** The service with as many jobs as asked for, in every state, and a few of everything else. */
export async function fill({ options, tenant, other, worker, cluster, say }: Stage): Promise<void> {
  say(`creating ${options.jobs.toLocaleString('en')} jobs`);
  await createJobs(tenant, options.jobs, jobAt);
  await createJobs(other, 1000, (n) => ({ task_name: 'sync', config: { queue: WAITING_QUEUES[n % 4] } }));
  for (let n = 0; n < 50; n++) {
    await tenant.post('/workflows', {
      name: `order ${n}`,
      steps: [
        { name: 'reserve', task_name: 'echo' },
        { name: 'charge', task_name: 'echo' },
        { name: 'ship', task_name: 'echo', depends_on: ['reserve', 'charge'], queue: n % 2 === 0 ? 'default' : 'mail' },
      ],
    });
  }
  for (const [name, cron_expr] of Object.entries({ nightly: '30 3 * * *', hourly: '0 * * * *', often: '* * * * *' })) {
    await tenant.put(`/cron/${name}`, { cron_expr, task_name: 'echo' });
  }
  await worker.post('/queues/mail/lease', { max_jobs: 100, worker_id: 'mailer-1', lease_secs: 300 });
  say('running those that are to end');
  await until(
    async () => {
      const [row] = await cluster.query<{ n: string }>(
        `SELECT count(*) AS n FROM millrace.ready WHERE queue = 'default'`,
      );
      return row?.n === '0' || `${row?.n} left`;
    },
    { what: 'the jobs of the default queue to end', withinMs: 3_600_000, everyMs: 2000 },
  );
  // What autovacuum would do a minute later; a measurement should not depend on when it comes by.
  await cluster.query('VACUUM ANALYZE');
}

/** Creates jobs in batches, several at once. */
export async function createJobs(client: Client, jobs: number, jobOf: (n: number) => object): Promise<void> {
  let next = 0;
  const lane = async (): Promise<void> => {
    while (next < jobs) {
      const from = next;
      next += BATCH;
      const size = Math.min(BATCH, jobs - from);
      await client.post('/jobs/batch', { jobs: Array.from({ length: size }, (_, index) => jobOf(from + index)) });
    }
  };
  await Promise.all(Array.from({ length: LANES }, lane));
}

function jobAt(n: number): object {
  const share = n % 100;
  if (share < COMPLETED) return { task_name: 'echo', payload: { order: n } };
  if (share < COMPLETED + FAILED) {
    const message = ERRORS[Math.floor(n / 100) % ERRORS.length];
    return { task_name: 'fail', payload: { message, permanent: true } };
  }
  const config = { queue: WAITING_QUEUES[n % WAITING_QUEUES.length] };
  return { task_name: TASKS[n % TASKS.length], payload: { customer: n, items: [n, n + 1] }, config };
}
