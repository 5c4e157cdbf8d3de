import { createConnection, type AddressInfo, type Server, type Socket } from 'node:net';

/** Listens on loopback, on a free port unless one is given; resolves to the port. */
export function listen(server: Server, port = 0): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () => {
      server.off('error', reject);
      resolve((server.address() as AddressInfo).port);
    });
  });
}

export function close(server: Server): Promise<void> {
  return new Promise((resolve) => server.close(() => resolve()));
}

/** Connects to the host of a URL. A directory in place of the host means the PostgreSQL socket in it. */
export function connectTo(target: URL): Socket {
  const host = decodeURIComponent(target.hostname);
  const port = Number(target.port || '5432');
  return host.startsWith('/')
    ? createConnection({ path: `${host}/.s.PGSQL.${port}` })
    : createConnection({ host, port, noDelay: true });
}

/** The same URL by way of a loopback port. */
export function viaPort(target: string | URL, port: number): string {
  const url = new URL(target);
  url.hostname = '127.0.0.1';
  url.port = String(port);
  return url.href;
}
