import type { Socket } from 'node:net';
import type pg from 'pg';

/** The socket of a connection, which the driver's types do not show. Destroying it ends the connection at once. */
export const socketOf = (client: pg.ClientBase): Socket =>
  (client as unknown as { readonly connection: { readonly stream: Socket } }).connection.stream;
