import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, request, type RequestListener, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { silentLogger, type Handler } from '@millrace/sdk';
import { Worker, type WorkerOptions } from '@millrace/sdk/worker';
import { WORKER_TOKEN } from '../../../server/test/support/server.js';
import { freshTask, until, useWorkerKit } from '../support/worker-kit.js';

const { server, millrace } = await useWorkerKit();

/** Sends an answer on, whole or otherwise. */
type Deliver = (response: ServerResponse, path: string, body: Buffer) => void;
const whole: Deliver = (response, _path, body) => response.end(body);

/** Something in front of the server that passes requests on. */
const passOn =
  (deliver: Deliver): RequestListener =>
  (incoming, response) => {
    const { method, headers, url: path = '' } = incoming;
    const onward = request(server.url + path, { method, headers }, (answer) => {
      const pieces: Buffer[] = [];
      answer.on('data', (piece: Buffer) => pieces.push(piece));
      answer.on('end', () => {
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        deliver(response, path, Buffer.concat(pieces));
      });
    });
    onward.on('error', () => response.destroy());
    response.on('close', () => onward.destroy());
    incoming.pipe(onward);
  };

async function listening(front: Server): Promise<number> {
  await new Promise<void>((resolve) => front.listen(0, '127.0.0.1', resolve));
  onTestFinished(
    () =>
      new Promise((resolve) => {
        front.close(() => resolve());
        front.closeAllConnections();
      }),
  );
  return (front.address() as AddressInfo).port;
}

/** A worker as it comes, without a `fetch` of its own. */
function start(url: string, handler: Handler, options: Partial<WorkerOptions> = {}): void {
  const worker = new Worker({
    url,
    token: WORKER_TOKEN,
    queues: { [handler.queue]: 4 },
    handlers: [handler],
    lease: '1h',
    signals: false,
    logger: silentLogger,
    ...options,
  });
  worker.run().catch(() => undefined);
  onTestFinished(() => worker.stop({ timeout: '0s' }));
}

const TEXT = { text: 'Größe, 大きさ, 🙂' };

function certificate(): { key: Buffer; cert: Buffer } | null {
  const home = mkdtempSync(join(tmpdir(), 'millrace-tls-'));
  try {
    const [key, cert] = [join(home, 'key.pem'), join(home, 'cert.pem')];
    const made = spawnSync('openssl', [
      ...['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '1', '-subj', '/CN=localhost'],
      ...['-keyout', key, '-out', cert],
    ]);
    return made.status === 0 ? { key: readFileSync(key), cert: readFileSync(cert) } : null;
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

const tls = certificate();

describe('a worker', () => {
  it('puts texts together that arrive in pieces, wherever they were cut', async () => {
    const port = await listening(
      createServer(
        passOn((response, _path, body) => {
          const at = body.indexOf('ß') + 1;
          response.write(body.subarray(0, at));
          setImmediate(() => response.end(body.subarray(at)));
        }),
      ),
    );
    const copy = freshTask('copy');
    start(
      `http://127.0.0.1:${port}`,
      copy.handle((payload) => payload),
    );
    const job = await millrace.enqueue(copy, TEXT);
    expect(await job.result()).toEqual(TEXT);
  });

  it('asks again when an answer breaks off', async () => {
    let cut = 0;
    const port = await listening(
      createServer(
        passOn((response, path, body) => {
          if (!path.endsWith('/lease') || cut > 0) return response.end(body);
          cut++;
          response.write(body.subarray(0, 1), () => response.destroy());
        }),
      ),
    );
    const later = freshTask('later');
    start(
      `http://127.0.0.1:${port}`,
      later.handle(() => TEXT),
      { poll: '1s' },
    );
    await until(() => cut === 1, { what: 'the first poll to be cut' });
    const job = await millrace.enqueue(later, {});
    expect(await job.result()).toEqual(TEXT);
  });

  it('says why it cannot reach the server', async () => {
    const said: string[] = [];
    const never = freshTask('never');
    start(
      // Nobody listens there, on any address of that name.
      'http://localhost:1',
      never.handle(() => TEXT),
      { logger: { ...silentLogger, warn: (line) => said.push(line) } },
    );
    await until(() => said.some((line) => /cannot lease: .*ECONNREFUSED/.test(line)), { what: 'a warning' });
  });

  it.skipIf(tls === null)('speaks HTTPS', async () => {
    vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0');
    onTestFinished(() => void vi.unstubAllEnvs());
    const port = await listening(createTlsServer(tls ?? {}, passOn(whole)));
    const secret = freshTask('secret');
    start(
      `https://127.0.0.1:${port}`,
      secret.handle(() => TEXT),
    );
    const job = await millrace.enqueue(secret, {});
    expect(await job.result()).toEqual(TEXT);
  });
});
