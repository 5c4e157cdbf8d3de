import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

/**
 * How a server stops taking connections without dropping a request that is on its way. Without care, such a request can
 * be lost in two places:
 *
 * - Closing the listener resets connections that the kernel has accepted and we have not. So it closes right after a
 *   turn of the event loop in which nothing arrived: that turn has taken in everything that was there.
 * - Node closes connections that are idle between two requests, but not those that have never carried one, such as
 *   browsers and connection pools open in advance, and would wait a minute for them. Their first request may be on its
 *   way, so they are given a moment before they are closed. They come as long as the listener is open, so this is
 *   repeated until none is left.
 */
export interface ConnectionGuard {
  /** Resolves at a moment when the listener can be closed safely. */
  quiet(): Promise<void>;
  /** Until the server is closed, closes connections that have carried nothing for a moment. */
  closeUnused(): void;
}

/** If the load is so high that no turn is quiet, the listener closes anyway after this long. */
const QUIET_WITHIN_MS = 1_000;
const FIRST_REQUEST_WITHIN_MS = 300;

export function guardConnections(server: Server): ConnectionGuard {
  const open = new Set<Socket>();
  let somebodyCame = false;
  server.on('connection', (socket: Socket) => {
    somebodyCame = true;
    open.add(socket);
    socket.once('close', () => open.delete(socket));
  });
  server.on('request', () => (somebodyCame = true));
  const quiet = async (): Promise<void> => {
    const giveUpAt = performance.now() + QUIET_WITHIN_MS;
    do {
      // From the end of one turn to the end of the next, which polls once for whatever has arrived in between.
      await endOfTurn();
      somebodyCame = false;
      await endOfTurn();
    } while (somebodyCame && performance.now() < giveUpAt);
  };
  const isUnused = (socket: Socket): boolean => socket.bytesRead === 0;
  const closeUnused = async (): Promise<void> => {
    while (server.listening || open.size > 0) {
      const unused = [...open].filter(isUnused);
      await delay(FIRST_REQUEST_WITHIN_MS, undefined, { ref: false });
      // In a busy process the moment may be over before what has arrived in it was read: timers come first in a turn.
      await quiet();
      for (const socket of unused) if (isUnused(socket)) socket.destroy();
    }
  };
  return { quiet, closeUnused: () => void closeUnused() };
}

const endOfTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
