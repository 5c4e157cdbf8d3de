import { connect, type Socket } from 'node:net';
import { parentPort, workerData } from 'node:worker_threads';
import type { AttackOrder, AttackReport } from '../support/attack.js';
import { attacksOf } from './attacks.js';
import type { Attack, Shot } from './requests.js';

/**
 * A tenant without scruples, in a thread of its own. Every attack has its pace, which does not depend on the answers:
 * so the hostile and the harmless run send equally many requests in the same time. Uses the bare socket, because no
 * decent client would send much of this.
 */
const order = workerData as AttackOrder;

/** Whatever has not been answered by then is given up. */
const PATIENCE_MS = 15_000;
/** Of each attack, for those requests that share connections. */
const LINES = 8;

type Statuses = Record<number, number>;

const open = new Set<Socket>();
const report: Record<string, { sent: number; readonly statuses: Statuses }> = {};
let stopping = false;

function dial(): Socket {
  const socket = connect({ port: order.port, host: '127.0.0.1', noDelay: true });
  open.add(socket);
  return socket.on('error', () => undefined).on('close', () => open.delete(socket));
}

function count(chunk: Buffer, statuses: Statuses): void {
  for (const [, status] of chunk.toString('latin1').matchAll(/HTTP\/1\.1 (\d{3}) /g)) {
    statuses[Number(status)] = (statuses[Number(status)] ?? 0) + 1;
  }
}

/** On a connection of its own. */
function sendAlone({ parts, unread, held }: Shot, statuses: Statuses): void {
  const socket = dial();
  if (unread) socket.pause();
  else {
    socket.on('data', (chunk: Buffer) => {
      count(chunk, statuses);
      if (!held) socket.end();
    });
  }
  for (const part of parts) socket.write(part);
  if (!held) setTimeout(() => socket.destroy(), PATIENCE_MS).unref();
}

/** One after the other on a few connections, without waiting for answers: the kernel's queue must protect nobody. */
class Lines {
  readonly #sockets: Socket[] = [];

  constructor(private readonly statuses: Statuses) {}

  send({ parts }: Shot, n: number): void {
    const line = n % LINES;
    let socket = this.#sockets[line];
    if (!socket || socket.destroyed) {
      socket = dial().on('data', (chunk: Buffer) => count(chunk, this.statuses));
      this.#sockets[line] = socket;
    }
    for (const part of parts) socket.write(part);
  }
}

function begin({ name, everyMs, atOnce = 1, most = Infinity, ownConnections, hostile, harmless }: Attack): void {
  const entry = (report[name] = { sent: 0, statuses: {} });
  const lines = new Lines(entry.statuses);
  const shoot = (): void => {
    for (let n = 0; n < atOnce && entry.sent < most; n++) {
      const shot = order.hostile ? hostile(entry.sent) : harmless(entry.sent);
      if (ownConnections) sendAlone(shot, entry.statuses);
      else lines.send(shot, entry.sent);
      entry.sent += 1;
    }
  };
  const startedAt = performance.now();
  let rounds = 0;
  // What a busy thread could not send in time follows at once, so that the number depends on nothing but the time.
  const timer = setInterval(
    () => {
      if (stopping || entry.sent >= most) return clearInterval(timer);
      for (; rounds * everyMs <= performance.now() - startedAt; rounds++) shoot();
    },
    Math.min(everyMs, 100),
  );
}

for (const each of attacksOf(order)) begin(each);

parentPort?.once('message', () => {
  stopping = true;
  for (const socket of open) socket.destroy();
  parentPort?.postMessage(report satisfies AttackReport);
});
