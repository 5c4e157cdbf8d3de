import type { Server } from 'node:http';
import type { Socket } from 'node:net';

/**
 * How a server stops taking connections without dropping a request that is on its way. Two places lose one if nobody
 * takes care:
 *
 * - A connection that the kernel has accepted and we have not is reset when the listener closes. So it closes right
 * after a turn of the event
 *   loop in which nobody came: everything that had arrived was taken in by that very turn.
 * - Node closes connections that idle between two requests, but leaves alone those that never carried one, as browsers
 * and connection pools
 *   open in advance, and would wait a minute for them. Their first request may be under way, so they are given a
 *   moment.
 */
export interface Gate {
  /** Resolves at an instant at which to close the listener. */
  quiet(): Promise<void>;
  /** Ends connections that still carry nothing after a moment. */
  closeUnused(): void;
}

/** Under such a load that no turn is quiet, it is closed all the same. */
const QUIET_WITHIN_MS = 1_000;
const FIRST_REQUEST_WITHIN_MS = 300;

export function guardConnections(server: Server): Gate {
  const open = new Set<Socket>();
  let somebodyCame = false;
  server.on('connection', (socket: Socket) => {
    somebodyCame = true;
    open.add(socket);
    socket.once('close', () => open.delete(socket));
  });
  server.on('request', () => (somebodyCame = true));
  return {
    quiet: async () => {
      const giveUpAt = performance.now() + QUIET_WITHIN_MS;
      do {
        // From the end of one turn to the end of the next, which looks once for whatever has arrived in between.
        await endOfTurn();
        somebodyCame = false;
        await endOfTurn();
      } while (somebodyCame && performance.now() < giveUpAt);
    },
    closeUnused: () => {
      const close = (): void => {
        for (const socket of open) if (socket.bytesRead === 0) socket.destroy();
      };
      setTimeout(close, FIRST_REQUEST_WITHIN_MS).unref();
    },
  };
}

const endOfTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
