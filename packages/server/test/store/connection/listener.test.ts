import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { Database } from '../../../src/store/connection/database.js';
import { createLogger } from '../../../src/telemetry/logger.js';

const message = (type: string, body: Buffer): Buffer => {
  const head = Buffer.alloc(5);
  head.write(type, 'latin1');
  head.writeInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
};
const WELCOME = [message('R', Buffer.alloc(4)), message('Z', Buffer.from('I'))];
const TERMINATED = message(
  'E',
  Buffer.from('SFATAL\0C57P01\0Mterminating connection due to administrator command\0\0'),
);

/** Thrown in the data handler of a socket, which nobody catches: without a listener for it this ends the test run. */
it('a connection that is lost as soon as it is there fails its first statement, and nothing else', async () => {
  const server = createServer((socket) => {
    // In one piece, as a busy machine delivers it: nobody has had a turn in between.
    socket.once('data', () => socket.end(Buffer.concat([...WELCOME, TERMINATED])));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const db = new Database({
    url: `postgres://nobody@127.0.0.1:${(server.address() as AddressInfo).port}/none?sslmode=disable`,
    maxConnections: 3,
    logger: createLogger({ level: 'silent', format: 'json' }),
  });
  const client = await db.openListener();
  await expect(client.query('LISTEN nothing')).rejects.toThrow();
  await client.end();
  await db.close();
});
