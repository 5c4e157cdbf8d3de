import type { Fault } from '../fault.js';
import type { Database } from '../stage/database.js';
import { TENANT_KEY, type ServerProcess } from '../stage/server.js';
import type { Stage } from '../stage/stage.js';
import { standBy, type Bystander } from '../support/bystander.js';
import { emptyQueue } from '../support/jobs.js';
import { expectModestMemory } from '../support/memory.js';

const HOSTILE_KEY = 'hostile-tenant-key';
const ADMIN_TOKEN = 'chaos-admin-token';
const QUEUE = 'bystander';
const BATCH = 1_000;
/** So long that a page of them is as large as it can be. */
const NAME_LENGTH = 240;
/** Of the list of queues, each of which counts all that waits: enough to see that they are bounded. */
const PAGES = 5;
const MOST_ROWS = 1_000;
const MOST_PAGE_BYTES = 2_000_000;
const RETRY_MS = 1_000;
const MOST_TRIES = 30;
const LONG_AGO = '1950-01-01T00:00:00Z';
/** What reads ages: of one tenant, and for the operator of all. */
const READS = ['/queues', '/counts', '/jobs?limit=1', '/dlq/groups', `/queues/${QUEUE}`];
const OPERATORS_READS = ['/admin/overview', '/admin/queues', '/admin/tenants'];

/** One tenant names queues without end, and gives a job an instant long past. Whoever reads then must get an answer. */
export const manyNames: Fault = {
  row: 41,
  name: 'queue names and errors by the hundred thousand, a job from 1950',
  check: 'every list is answered in bounded pages, memory below 1 GiB, other tenants are served in time',
  unit: 'queue names',
  full: 300_000,
  everyday: 3_000,
  alone: true,
  async run(stage, count) {
    const database = await stage.database();
    const server = await stage.server({
      database,
      mode: 'api',
      env: {
        MILLRACE_API_KEYS: `${TENANT_KEY}:chaos,${HOSTILE_KEY}:hostile`,
        MILLRACE_ADMIN_TOKEN: ADMIN_TOKEN,
        MILLRACE_MAX_DB_CONNECTIONS: '10',
      },
    });
    const others: Bystander = { stage, server, client: stage.client(server) };
    for (let first = 0; first < count; first += BATCH) await create(server, first, Math.min(BATCH, count - first));
    await create(server, 0, 1, LONG_AGO);
    await fail(database, count);
    const reading = readAll(stage, server, count);
    await standBy(others, QUEUE, reading);
    await emptyQueue(others.client, QUEUE);
    expectModestMemory(stage, server);
  },
};

async function create(server: ServerProcess, first: number, count: number, runAt?: string): Promise<void> {
  const jobs = Array.from({ length: count }, (_, n) => ({
    task_name: 't',
    config: { queue: `q${first + n}-`.padEnd(NAME_LENGTH, 'x') },
    ...(runAt !== undefined && { run_at: runAt }),
  }));
  const { status } = await call(server, '/jobs/batch', HOSTILE_KEY, { jobs });
  if (status !== 201) throw new Error(`a batch of names was answered ${status}`);
}

/** Dead letters, each with an error of its own: numbers are taken out of errors, so they are spelt in letters. */
async function fail(database: Database, count: number): Promise<void> {
  await database.query(
    `INSERT INTO millrace.dead_letters (created_at, job_id, reason, tenant, queue, task, error)
     SELECT now() - n * interval '1 second', gen_random_uuid(), 'non_retryable', 'hostile', 'failed', 't',
            translate(n::text, '0123456789', 'abcdefghij')
     FROM generate_series(1, $1::int) AS n`,
    [count],
  );
}

async function readAll(stage: Stage, server: ServerProcess, count: number): Promise<void> {
  const answers = [
    ...READS.map((path) => [path, HOSTILE_KEY] as const),
    ...OPERATORS_READS.map((path) => [path, ADMIN_TOKEN] as const),
  ];
  for (const [path, token] of answers) {
    const { status } = await read(stage, server, path, token);
    stage.expect(status === 200, `GET ${path} was answered ${status}`);
  }
  await readPages(stage, server, count);
}

async function readPages(stage: Stage, server: ServerProcess, count: number): Promise<void> {
  const names = new Set<string>();
  let oldest = 0;
  let cursor = '';
  let largest = 0;
  for (let page = 0; page < PAGES; page++) {
    const { status, text } = await read(stage, server, `/queues${cursor}`, HOSTILE_KEY);
    if (status !== 200) return stage.violation(`page ${page} of GET /queues was answered ${status}`);
    const { queues, next_cursor } = JSON.parse(text) as Queues;
    largest = Math.max(largest, text.length);
    stage.expect(queues.length <= MOST_ROWS, `a page of GET /queues had ${queues.length} rows`);
    for (const { queue, oldest_pending_age_secs: age } of queues) {
      stage.expect(!names.has(queue), `GET /queues repeated ${queue}`);
      names.add(queue);
      oldest = Math.max(oldest, age ?? 0);
    }
    if (next_cursor === undefined) break;
    cursor = `?cursor=${encodeURIComponent(next_cursor)}`;
  }
  stage.expect(largest <= MOST_PAGE_BYTES, `a page of GET /queues had ${largest} bytes`);
  const expected = Math.min(count, PAGES * MOST_ROWS);
  stage.expect(names.size === expected, `GET /queues showed ${names.size} of ${expected} names`);
  stage.expect(oldest < 3_600, `the oldest job that waits is ${oldest} s old, by GET /queues`);
}

interface Queues {
  readonly queues: readonly { readonly queue: string; readonly oldest_pending_age_secs: number | null }[];
  readonly next_cursor?: string;
}

interface Answer {
  readonly status: number;
  readonly text: string;
}

/** A tenant whose own counts take long is told to try again, and does. */
async function read(stage: Stage, server: ServerProcess, path: string, token: string): Promise<Answer> {
  const busy = (answer: Answer): boolean => answer.status === 503;
  let answer = await call(server, path, token);
  for (let tries = 1; busy(answer) && tries < MOST_TRIES; tries++) {
    await stage.sleep(RETRY_MS);
    answer = await call(server, path, token);
  }
  return answer;
}

async function call(server: ServerProcess, path: string, token: string, body?: object): Promise<Answer> {
  const response = await fetch(new URL(`/api/v1${path}`, server.url), {
    ...(body !== undefined && { method: 'POST', body: JSON.stringify(body) }),
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
  });
  return { status: response.status, text: await response.text() };
}
