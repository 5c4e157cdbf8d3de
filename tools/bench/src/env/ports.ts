import { createServer } from 'node:net';
import { close, listen } from '@millrace/tools-shared';

/** A port that nobody listens on at this moment. */
export async function freePort(): Promise<number> {
  const server = createServer();
  const port = await listen(server);
  await close(server);
  return port;
}
