import type { Server } from 'node:http';
import type { Socket } from 'node:net';

/**
 * On shutdown Node closes connections that idle between two requests, but leaves alone those that never carried one,
 * as browsers and connection pools open in advance, and would wait a minute for them. Returns what closes these.
 */
export function trackUnusedConnections(server: Server): () => void {
  const open = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    open.add(socket);
    socket.once('close', () => open.delete(socket));
  });
  return () => {
    for (const socket of open) if (socket.bytesRead === 0) socket.destroy();
  };
}
