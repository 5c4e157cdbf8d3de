import { createServer } from 'node:net';
import type { Config } from '../config/config.js';

/**
 * Fails in the words of a listener if a port is taken or the address is not ours. Asked before anything else is
 * opened, so that a mistyped port does not first make a database. The listeners themselves may still fail later.
 */
export async function checkPorts({ mode, host, apiPort, metricsPort }: Config): Promise<void> {
  const ports = mode === 'worker' ? [metricsPort] : [apiPort, metricsPort];
  for (const port of ports) if (port !== 0) await probe(host, port);
}

const probe = (host: string, port: number): Promise<void> =>
  new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve()));
  });
