import { readMetrics } from '@millrace/tools-shared';
import type { Fault } from '../fault.js';
import { TENANT_KEY, WORKER_TOKEN, type ServerProcess } from '../stage/server.js';
import { attack, type CostlyAttack } from '../support/attack.js';
import { standBy, untilBodiesHaveArrived, type Bystander } from '../support/bystander.js';
import { inTurn, together } from '../support/concurrency.js';
import { watchEvents } from '../support/event-stream.js';
import { emptyQueue } from '../support/jobs.js';
import { expectModestMemory, mebibytes } from '../support/memory.js';

const HOSTILE_KEY = 'hostile-tenant-key';
const QUEUE = 'bystander';
const MIB = 1024 * 1024;
/** In full: 150 chunked bodies, 1,200 streams on a large job, 500 that see progress, 12 bodies of dense JSON. */
const FULL = 150;
const STREAMS = 8;
const WATCHERS = 500 / FULL;
const DENSE = 12 / FULL;
const PROGRESS = 'p'.repeat(2_000);
/** How long each kind lasts, in full and at least. */
const MS = { full: 10_000, least: 1_200 };
/** How late a bystander's event may be. */
const EVENT_MS = 1_000;
/** What a request may take of the processor, and for each mebibyte of its body, whatever that holds. */
const REQUEST_CPU_MS = 300;
const CPU_MS_PER_MIB = 50;

/** One tenant sends requests that cost far more than they look, kind by kind, on a server as it comes. */
export const costlyRequests: Fault = {
  row: 40,
  name: 'chunked bodies, streams on a large job, progress to many, dense JSON',
  check: 'the server stays up below 1 GiB, /health and other tenants are served in time',
  unit: 'chunked bodies, and others in proportion',
  full: FULL,
  everyday: 15,
  alone: true,
  async run(stage, count) {
    const database = await stage.database();
    const server = await stage.server({
      database,
      mode: 'api',
      env: { MILLRACE_API_KEYS: `${TENANT_KEY}:chaos,${HOSTILE_KEY}:hostile`, MILLRACE_MAX_DB_CONNECTIONS: '10' },
    });
    const others: Bystander = { stage, server, client: stage.client(server) };
    const ms = Math.max(MS.least, (MS.full * count) / FULL);
    const times = (part: number): number => Math.max(2, Math.round(count * part));

    const large = await hostileJob(server, 'large', 's'.repeat(3.9 * MIB));
    await besideAttack(others, { kind: 'chunked bodies', count, job: '' }, () =>
      standBy(others, QUEUE, untilBodiesHaveArrived(others)),
    );
    await besideAttack(others, { kind: 'unread streams', count: times(STREAMS), job: large }, () =>
      standBy(others, QUEUE, ms),
    );
    await progressToMany(others, times(WATCHERS), ms);
    await denseJson(others, times(DENSE));

    await emptyQueue(others.client, QUEUE);
    expectModestMemory(stage, server);
  },
};

async function besideAttack(
  { stage, server }: Bystander,
  costly: CostlyAttack,
  during: () => Promise<void>,
): Promise<void> {
  stage.note(`${costly.count} ${costly.kind}:`);
  const order = {
    port: Number(new URL(server.url).port),
    tenantKey: HOSTILE_KEY,
    workerToken: WORKER_TOKEN,
    queue: QUEUE,
    hostile: true,
    share: 1,
    costly,
  };
  const report = await attack(order, during);
  const statuses = Object.keys(report[costly.kind]?.statuses ?? {}).map(Number);
  const wrong = statuses.filter((status) => status >= 500 && status !== 503);
  stage.expect(wrong.length === 0, `${costly.kind} were answered ${wrong.join()}`);
}

/** Resolves to the id of a job of the hostile tenant. */
async function hostileJob(server: ServerProcess, queue: string, text: string): Promise<string> {
  const { job_id } = await asHostile(server, '/api/v1/jobs', { task_name: 't', config: { queue }, payload: { text } });
  return job_id as string;
}

async function asHostile(
  server: ServerProcess,
  path: string,
  body: object | string,
  token = HOSTILE_KEY,
): Promise<Readonly<Record<string, unknown>>> {
  const response = await fetch(new URL(path, server.url), {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
  return (await response.json()) as Readonly<Record<string, unknown>>;
}

/** A job reports its progress to hundreds of streams, again and again; another tenant follows a job of its own. */
async function progressToMany(others: Bystander, streams: number, ms: number): Promise<void> {
  const { stage, server } = others;
  const job = await hostileJob(server, 'progress', '');
  const leased = await asHostile(server, '/api/v1/queues/progress/lease', { lease_secs: 600 }, WORKER_TOKEN);
  const [{ lease_token }] = leased.jobs as [{ lease_token: string }];
  let going = true;
  const report = async (): Promise<void> => {
    for (let n = 0; going; n++) {
      const progress = { n, text: PROGRESS };
      await asHostile(
        server,
        `/api/v1/jobs/${job}/heartbeat`,
        { lease_token, extend_secs: 600, progress },
        WORKER_TOKEN,
      );
      await stage.sleep(20);
    }
  };
  await besideAttack(others, { kind: 'streams', count: streams, job }, async () => {
    const reports = report();
    const endsAt = performance.now() + ms;
    do await followOne(others);
    while (performance.now() < endsAt);
    await standBy(others, QUEUE, 0);
    going = false;
    await reports;
  });
}

/** What the server has used so far: unlike an answer, it does not wait for other programs. */
const cpuMs = async ({ metricsUrl }: ServerProcess): Promise<number> =>
  Math.round(1_000 * (await readMetrics(metricsUrl))('process_cpu_seconds_total'));

/** What JSON.parse takes longest for, where nobody looks and where it belongs to the caller. */
const objects = (mebibytes: number): string => `[${'{},'.repeat((mebibytes * MIB) / 3)}{}]`;
const names = (mebibytes: number): string =>
  `{${Array.from({ length: (mebibytes * MIB) / 13 }, (_, n) => `"k${1e6 + n}":1`).join()}}`;

/** One at a time, then all at once. */
async function denseJson(others: Bystander, count: number): Promise<void> {
  const { stage, server } = others;
  const config = '"config":{"queue":"dense"}';
  const item = `{"task_name":"t",${config},"payload":{"a":${objects(15.5 / 1_000)}}}`;
  type Body = readonly [path: string, body: string];
  const bodies: readonly [Body, ...Body[]] = [
    ['/api/v1/jobs/batch', `{"jobs":[{"task_name":"t",${config}}],"zzz":${objects(15.9)}}`],
    ['/api/v1/jobs/batch', `{"jobs":[${Array<string>(1_000).fill(item).join()}]}`],
    ['/api/v1/jobs', `{"task_name":"t",${config},"payload":${names(3.9)}}`],
    ['/api/v1/workflows', `{"name":"w","steps":[{"name":"a","task_name":"t","queue":"dense"}],"zzz":${names(15)}}`],
    ['/api/v1/jobs', `{"task_name":"t",${config},"payload":{"a":${objects(3.9)}}}`],
  ];
  const send = (n: number): Promise<Readonly<Record<string, unknown>>> => asHostile(server, ...inTurn(bodies, n));
  for (const [n, [path, body]] of bodies.entries()) {
    const before = await cpuMs(server);
    const { error } = await send(n);
    stage.expect(error === undefined, `dense JSON of POST ${path} was refused: ${String(error)}`);
    const took = (await cpuMs(server)) - before;
    const most = REQUEST_CPU_MS + Math.ceil((body.length / MIB) * CPU_MS_PER_MIB);
    stage.expectWithin(most, took, `processor time of dense JSON of POST ${path}`);
    stage.note(`${mebibytes(body.length)} of dense JSON took ${took} ms of the processor`);
  }
  stage.note(`${count} bodies of dense JSON:`);
  await standBy(others, QUEUE, together(count, send));
}

/** From the answer to a completion to its event. */
async function followOne({ stage, server, client }: Bystander): Promise<void> {
  const created = await client.create('work', { config: { queue: 'followed' } });
  const id = String(created.body.job_id);
  const stop = new AbortController();
  const events = watchEvents(server.url, id, stop.signal);
  const [leased] = await client.lease('followed', { secs: 60 });
  if (leased === undefined) throw new Error('the job to be followed was not given out');
  await client.complete(id, leased.token);
  const completedAt = performance.now();
  const timer = setTimeout(() => stop.abort(), 60_000);
  const seen = await events.catch(() => []);
  clearTimeout(timer);
  const last = seen.at(-1);
  stage.expect(last?.status === 'completed', `a bystander's stream ended in ${last?.status ?? 'nothing'}`);
  if (last !== undefined) stage.expectWithin(EVENT_MS, last.at - completedAt, "the event of a bystander's completion");
}
