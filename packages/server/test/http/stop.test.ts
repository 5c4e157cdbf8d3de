import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { expect, it } from 'vitest';
import { startTestServer } from '../support/server.js';

/** What a stopping server owes to clients that are already on their way. */
const REQUEST = 'GET /health HTTP/1.1\r\nhost: x\r\n\r\n';

function open(url: string): Socket {
  const { hostname, port } = new URL(url);
  return connect(Number(port), hostname).setEncoding('utf8');
}

/** Everything received until the connection ends, or how it broke. */
async function answerOn(socket: Socket): Promise<string> {
  let text = '';
  socket.on('data', (chunk: string) => (text += chunk));
  const broken = once(socket, 'error').then(([error]) => (error as NodeJS.ErrnoException).code ?? 'error');
  return Promise.race([once(socket, 'close').then(() => text), broken]);
}

it('a connection that reached the machine before the stop is served', async () => {
  const server = await startTestServer();
  const sockets = Array.from({ length: 20 }, () => open(server.url));
  // From here on the kernel has made these connections, whether or not the server has come to accept them.
  await Promise.all(sockets.map((socket) => once(socket, 'connect')));
  for (const socket of sockets) socket.write(REQUEST);
  const stopped = server.stop();
  const answers = await Promise.all(sockets.map(answerOn));
  expect(answers.map((answer) => answer.split('\r\n')[0])).toEqual(sockets.map(() => 'HTTP/1.1 200 OK'));
  expect(answers[0]).toMatch(/connection: close/i);
  await stopped;
});

it('a connection opened in advance may still send its first request, and does not delay the stop', async () => {
  const server = await startTestServer({ config: { shutdownSecs: 3600 } });
  const [early, silent] = [open(server.url), open(server.url)];
  await Promise.all([once(early, 'connect'), once(silent, 'connect')]);
  // Both have been accepted once a later request is answered.
  await server.nobody.get('/health');
  const stopped = server.stop();
  early.write(REQUEST);
  const [served, unserved] = await Promise.all([answerOn(early), answerOn(silent)]);
  expect(served).toContain('HTTP/1.1 200 OK');
  expect(unserved).toBe('');
  // Its clients have an hour in all.
  await stopped;
});
