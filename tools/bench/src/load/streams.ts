import { Agent, get } from 'node:http';
import { latencyOf, type Latency } from '../latency.js';
import { PAYLOAD, TASK, TENANT_KEY } from '../work.js';
import { Connection, expectStatus, post } from './connection.js';
import { complete, lease } from './workers.js';

/** Many clients, each with an event stream on one job, while remote workers complete all the jobs. */
export interface Watching {
  readonly port: number;
  readonly streams: number;
}

export interface Watched extends Latency {
  /** From the first request for a stream until the last stream has shown its first state. */
  readonly openedMs: number;
  /** Transitions delivered per second, from the first lease to the end of the last stream. */
  readonly eventsPerSecond: number;
}

const COMPLETERS = 16;

export async function watchJobs({ port, streams }: Watching): Promise<Watched> {
  const ids = await createJobs(port, streams);
  const agent = new Agent({ maxSockets: Infinity });
  const startedAt = performance.now();
  const watched = ids.map((id) => openStream(port, id, agent));
  await Promise.all(watched.map((stream) => stream.opened));
  const openedMs = performance.now() - startedAt;
  const workFrom = performance.now();
  const sentAt = await finishJobs(port);
  const ends = await Promise.all(watched.map((stream) => stream.ended));
  agent.destroy();
  const seconds = (performance.now() - workFrom) / 1000;
  const events = ends.reduce((sum, end) => sum + end.events, 0) - streams;
  const ms = ends.map(({ completedAt }, index) => completedAt - (sentAt.get(ids[index] ?? '') ?? NaN));
  return { openedMs, eventsPerSecond: events / seconds, ...latencyOf(ms) };
}

async function createJobs(port: number, count: number): Promise<string[]> {
  const jobs = Array.from({ length: count }, () => ({ task_name: TASK, payload: PAYLOAD }));
  const connection = await Connection.open(port);
  const reply = await connection.request(post('/api/v1/jobs/batch', TENANT_KEY, JSON.stringify({ jobs })));
  expectStatus(reply, 201);
  connection.close();
  return (JSON.parse(reply.body.toString('utf8')) as { job_ids: string[] }).job_ids;
}

/** Resolves to the time at which each completion was sent. */
async function finishJobs(port: number): Promise<Map<string, number>> {
  const sentAt = new Map<string, number>();
  const connections = await Connection.openMany(port, COMPLETERS);
  const [first] = connections;
  for (;;) {
    const leased = first ? await lease(first) : [];
    if (leased.length === 0) break;
    await Promise.all(
      connections.map((connection) => complete(connection, leased, (_ms, id, at) => sentAt.set(id, at))),
    );
  }
  for (const connection of connections) connection.close();
  return sentAt;
}

interface Stream {
  readonly opened: Promise<void>;
  readonly ended: Promise<{ readonly completedAt: number; readonly events: number }>;
}

function openStream(port: number, id: string, agent: Agent): Stream {
  let opened!: () => void;
  let events = 0;
  let completedAt = NaN;
  const ended = new Promise<{ completedAt: number; events: number }>((resolve, reject) => {
    const headers = { authorization: `Bearer ${TENANT_KEY}` };
    get({ host: '127.0.0.1', port, path: `/api/v1/jobs/${id}/events`, agent, headers }, (response) => {
      response.setEncoding('utf8');
      response.on('data', (text: string) => {
        events += text.split('event: status').length - 1;
        if (events > 0) opened();
        if (text.includes('"status":"completed"')) completedAt = performance.now();
      });
      response.on('end', () => resolve({ completedAt, events }));
    }).on('error', reject);
  });
  return { opened: new Promise((resolve) => (opened = resolve)), ended };
}
