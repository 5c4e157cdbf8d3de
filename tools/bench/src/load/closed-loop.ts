import { latencyOf, type Latency } from '../latency.js';
import { Connection, unexpected } from './connection.js';

/** Each connection sends its next request as soon as the last one is answered: the most that the server can take. */
export interface ClosedLoop {
  readonly port: number;
  readonly connections: number;
  readonly request: () => Buffer;
  readonly status: number;
}

export interface Rate extends Latency {
  readonly perSecond: number;
}

export async function measureRate(loop: ClosedLoop, warmupMs: number, windowMs: number): Promise<Rate> {
  const from = performance.now() + warmupMs;
  const until = from + windowMs;
  const ms: number[] = [];
  await run(loop, (sentAt, now) => {
    if (sentAt >= from && now <= until) ms.push(now - sentAt);
    return now < until;
  });
  return { perSecond: (ms.length / windowMs) * 1000, ...latencyOf(ms) };
}

/** Sends a fixed number of requests; resolves to the milliseconds from the first request to the last answer. */
export async function measureCount(loop: ClosedLoop, count: number): Promise<number> {
  let left = count - loop.connections;
  const startedAt = performance.now();
  await run({ ...loop, connections: Math.min(count, loop.connections) }, () => left-- > 0);
  return performance.now() - startedAt;
}

async function run(loop: ClosedLoop, answered: (sentAt: number, now: number) => boolean): Promise<void> {
  const connections = await Connection.openMany(loop.port, loop.connections);
  try {
    await Promise.all(connections.map((connection) => drive(connection, loop, answered)));
  } finally {
    for (const connection of connections) connection.close();
  }
}

function drive(
  connection: Connection,
  { request, status }: ClosedLoop,
  answered: (sentAt: number, now: number) => boolean,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const next = (): void => {
      const sentAt = performance.now();
      connection.send(
        request(),
        (reply) => {
          const wrong = unexpected(reply, status);
          if (wrong !== null) return reject(wrong);
          if (answered(sentAt, performance.now())) next();
          else resolve();
        },
        reject,
      );
    };
    next();
  });
}
