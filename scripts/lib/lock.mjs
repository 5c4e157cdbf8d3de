import { createHash } from 'node:crypto';
import { rmSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * One process at a time sets up a clone. Whoever listens on the clone's address has the lock; the kernel releases it
 * when the process ends, however that happens, and a waiter holds a connection that then closes. Nothing needs to be
 * installed, built or written for that.
 */
export async function withLock(name, body) {
  const address = addressFor(name);
  for (let told = false; ; told = true) {
    const server = await listen(address);
    if (server !== null) {
      try {
        return await body();
      } finally {
        server.release();
      }
    }
    if (!told) console.error('waiting for another process that is setting up this clone ...');
    await untilFree(address);
  }
}

function addressFor(name) {
  const id = createHash('sha256').update(name).digest('hex').slice(0, 16);
  // On Linux an abstract address, which leaves no file; elsewhere a file that the next process removes after a crash.
  return process.platform === 'linux' ? `\0millrace-setup-${id}` : join(tmpdir(), `millrace-setup-${id}.sock`);
}

/** Null if another process has the lock. */
function listen(address) {
  return new Promise((resolve, reject) => {
    const waiting = new Set();
    const server = createServer((socket) => {
      waiting.add(socket);
      socket.on('error', () => undefined).on('close', () => waiting.delete(socket));
    });
    server.on('error', (error) => (error.code === 'EADDRINUSE' ? resolve(null) : reject(error)));
    server.listen(address, () =>
      resolve({
        release: () => {
          server.close();
          for (const socket of waiting) socket.destroy();
        },
      }),
    );
  });
}

function untilFree(address) {
  return new Promise((resolve) => {
    const socket = connect(address);
    socket.on('error', (error) => {
      if (error.code === 'ECONNREFUSED' && !address.startsWith('\0')) rmSync(address, { force: true });
    });
    socket.on('close', resolve);
  });
}
