import { connect, type Socket } from 'node:net';
import { parentPort, workerData } from 'node:worker_threads';
import type { AttackOrder, AttackReport } from '../support/attack.js';
import { attacksOf, type Attack, type Shot } from './attacks.js';

/**
 * A tenant without scruples, in a thread of its own. Every attack has its pace, which does not depend on the answers: so
 * the hostile and the harmless run send equally many requests in the same time. Uses the bare socket, because much of
 * this no decent client would send.
 */
const order = workerData as AttackOrder;

/** Whatever has not been answered by then is given up. */
const PATIENCE_MS = 15_000;

const open = new Set<Socket>();
const report: Record<string, { sent: number; readonly statuses: Record<number, number> }> = {};
let stopping = false;

function send({ parts, unread = false, held = false }: Shot, statuses: Record<number, number>): void {
  const socket = connect({ port: order.port, host: '127.0.0.1' });
  open.add(socket);
  socket.on('error', () => undefined).on('close', () => open.delete(socket));
  if (unread) socket.pause();
  else {
    socket.once('data', (chunk: Buffer) => {
      const status = Number(chunk.subarray(9, 12).toString('latin1'));
      statuses[status] = (statuses[status] ?? 0) + 1;
    });
    socket.resume();
  }
  for (const part of parts) socket.write(part);
  if (!held) setTimeout(() => socket.destroy(), PATIENCE_MS).unref();
}

function begin({ name, everyMs, atOnce = 1, most = Infinity, hostile, harmless }: Attack): void {
  const { statuses } = (report[name] = { sent: 0, statuses: {} });
  const entry = report[name];
  const shoot = (): void => {
    for (let n = 0; n < atOnce && entry.sent < most; n++) {
      send(order.hostile ? hostile(entry.sent) : harmless(entry.sent), statuses);
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
