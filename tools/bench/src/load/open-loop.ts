import { setTimeout as sleep } from 'node:timers/promises';
import { monotonicMicros, Random } from '@millrace/tools-shared';
import { Connection, expectStatus, unexpected } from './connection.js';

/**
 * Requests are sent at scheduled times, however long the answers take. A request that finds no free connection waits
 * for one, and its time counts from its schedule: a server that stalls cannot hide it by keeping us from asking.
 */
export interface OpenLoop {
  readonly port: number;
  readonly connections: number;
  readonly perSecond: number;
  readonly durationMs: number;
  /** Gets the scheduled time, in microseconds of the machine's monotonic clock. */
  readonly request: (scheduledMicros: number) => Buffer;
  readonly status: number;
}

const TICK_MS = 1;

/** Resolves to the number of requests sent. */
export async function sendAtRate(loop: OpenLoop): Promise<number> {
  const connections = await Connection.openMany(loop.port, loop.connections);
  const free = [...connections];
  const intervalMicros = 1e6 / loop.perSecond;
  const startedAt = monotonicMicros();
  const total = Math.floor((loop.durationMs / 1000) * loop.perSecond);
  let sent = 0;
  let answered = 0;
  const failures: Error[] = [];
  const sendDue = (): void => {
    const due = Math.min(total, Math.floor((monotonicMicros() - startedAt) / intervalMicros));
    while (sent < due) {
      const connection = free.pop();
      if (!connection) return;
      const request = loop.request(startedAt + Math.floor(sent++ * intervalMicros));
      const done = (): void => {
        answered++;
        free.push(connection);
        sendDue();
      };
      connection.send(
        request,
        (reply) => {
          const wrong = unexpected(reply, loop.status);
          if (wrong !== null) failures.push(wrong);
          done();
        },
        (error) => failures.push(error),
      );
    }
  };
  while (answered < total && failures.length === 0) {
    sendDue();
    await sleep(TICK_MS);
  }
  for (const connection of connections) connection.close();
  for (const failure of failures) throw failure;
  return total;
}

/** One request at a time with random pauses in between, so that the service has nothing else to do. */
export async function sendSparsely(
  loop: Pick<OpenLoop, 'port' | 'request' | 'status'>,
  count: number,
  pauseMs: { readonly min: number; readonly max: number },
): Promise<void> {
  const connection = await Connection.open(loop.port);
  // The same pauses in every round.
  const random = new Random(count);
  for (let n = 0; n < count; n++) {
    await sleep(random.between(pauseMs.min, pauseMs.max));
    expectStatus(await connection.request(loop.request(monotonicMicros())), loop.status);
  }
  connection.close();
}
