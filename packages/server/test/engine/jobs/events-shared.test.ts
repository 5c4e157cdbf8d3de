import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { UNREAD_MS } from '../../../src/http/answers/unread.js';
import { KEY_A, useTestServer } from '../../support/server.js';
import { until } from '../../support/until.js';
import { complete, createJob, leaseOne, newQueue } from '../kit.js';
import { inTime } from '../waiting.js';

const MIB = 1024 * 1024;
/** Together they would be more than a tenant may leave unread. */
const STREAMS = 12;

describe('streams of one large job', async () => {
  const { a, worker, url, metricsUrl } = await useTestServer();
  const metric = async (name: string): Promise<number> => {
    const page = await (await fetch(`${metricsUrl}/metrics`)).text();
    return Number(new RegExp(`^millrace_${name} (\\d+)`, 'm').exec(page)?.[1]);
  };
  const all: Socket[] = [];
  const hangUp = (): void => all.splice(0).forEach((socket) => void socket.destroy());
  const areGone = (): Promise<unknown> =>
    until(async () => (await metric('unread_answer_bytes')) === 0 && (await metric('event_streams')) === 0);
  const opened = (id: string): Socket => {
    const socket = connect(Number(new URL(url).port), '127.0.0.1');
    all.push(socket);
    socket.on('error', () => undefined);
    const head = [`GET /api/v1/jobs/${id}/events HTTP/1.1`, 'Host: x', `Authorization: Bearer ${KEY_A}`];
    socket.write(`${head.join('\r\n')}\r\nConnection: close\r\n\r\n`);
    return socket;
  };
  /** Its first event has been sent, of which it then leaves the rest unread. */
  const begun = async (socket: Socket): Promise<void> => {
    let seen = Buffer.alloc(0);
    while (!seen.includes('event: status')) {
      expect(socket.closed, 'it was cut off').toBe(false);
      await Promise.race([once(socket, 'readable'), once(socket, 'close')]);
      seen = Buffer.concat([seen, (socket.read() as Buffer | null) ?? Buffer.alloc(0)]);
    }
    socket.unshift(seen);
  };
  /** The statuses that the rest of the stream shows. */
  const restOf = async (socket: Socket): Promise<string[]> => {
    const pieces: Buffer[] = [];
    socket.on('data', (piece: Buffer) => pieces.push(piece)).resume();
    if (!socket.closed) await once(socket, 'close');
    return [
      ...Buffer.concat(pieces)
        .toString('latin1')
        .matchAll(/"status":"(\w+)","result"/g),
    ].map(([, name]) => name!);
  };

  it('hold what is sent once, however many do not read it, and all of them see everything', async () => {
    onTestFinished(hangUp);
    const text = 'x'.repeat(3.5 * MIB);
    // Who leaves a stream unread for longer is cut off.
    await inTime(UNREAD_MS / 1000, async (time) => {
      const queue = newQueue();
      const id = await createJob(a, queue, { payload: { text }, metadata: { text } });
      hangUp();
      await areGone();
      time.restart();
      const sockets = Array.from({ length: STREAMS }, () => opened(id));
      await Promise.all(sockets.map(begun));
      expect(await metric('event_streams')).toBe(STREAMS);
      expect(await metric('unread_answer_bytes')).toBeGreaterThan(0);
      expect(await metric('unread_answer_bytes')).toBeLessThan(8 * MIB);
      // One after the other: it is still the same event.
      const later = opened(id);
      sockets.push(later);
      await begun(later);
      expect(await metric('event_streams')).toBe(STREAMS + 1);
      expect(await metric('unread_answer_bytes')).toBeLessThan(8 * MIB);

      await complete(worker, await leaseOne(worker, queue), { done: true });
      const lives = await Promise.all(sockets.map(restOf));
      for (const statuses of lives) expect(statuses).toEqual(['pending', 'running', 'completed']);
    });
    await areGone();
  });
});
