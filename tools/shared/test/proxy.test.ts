import { once } from 'node:events';
import { createConnection, createServer, type Socket } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startProxy, type Proxy } from '../src/proxy.js';
import { listen } from '../src/sockets.js';
import { until } from '../src/until.js';

const echo = createServer((socket) => void socket.pipe(socket).on('error', () => undefined));
let proxy: Proxy;

beforeAll(async () => {
  proxy = await startProxy(`http://127.0.0.1:${await listen(echo)}`);
});
afterAll(async () => {
  await proxy.close();
  echo.close();
});

async function connect(): Promise<{ socket: Socket; received: () => string }> {
  const socket = createConnection(Number(new URL(proxy.url).port), '127.0.0.1');
  await once(socket, 'connect');
  let text = '';
  socket.setEncoding('utf8').on('data', (data: string) => (text += data));
  socket.on('error', () => undefined);
  return { socket, received: () => text };
}

it('delays what passes on a slow line, and keeps it in order', async () => {
  const delays = [60, 40, 20, 5, 30];
  proxy.slow(() => delays.shift() ?? 1);
  const { socket, received } = await connect();
  const startedAt = performance.now();
  const sent = Array.from({ length: 30 }, (_, n) => `${n} `);
  for (const text of sent) {
    socket.write(text);
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  await until(() => received().length === sent.join('').length || received());
  expect(received()).toBe(sent.join(''));
  // The first chunk alone is delayed by 60 ms on the way there.
  expect(performance.now() - startedAt).toBeGreaterThan(55);
  socket.destroy();
  await proxy.restore();
});

it('passes nothing on once frozen, and works for new connections when restored', async () => {
  const old = await connect();
  old.socket.write('before');
  await until(() => old.received() === 'before');
  proxy.freeze();
  old.socket.write('during');
  await proxy.restore();
  const fresh = await connect();
  fresh.socket.write('after');
  await until(() => fresh.received() === 'after');
  expect(old.received()).toBe('before');
  old.socket.destroy();
  fresh.socket.destroy();
});

it('closes and refuses connections while cut', async () => {
  const { socket } = await connect();
  const closed = once(socket, 'close');
  await proxy.cut();
  await closed;
  await expect(connect()).rejects.toThrow('ECONNREFUSED');
  await proxy.restore();
  const { socket: again } = await connect();
  again.destroy();
});
