import { describe, expect, it } from 'vitest';
import { parseConfig } from '../../../src/config/config.js';
import { hostCheck, type HostCheck } from '../../../src/config/host-check.js';
import { startMetricsServer } from '../../../src/telemetry/metrics-server.js';
import { exchange, KEY_A, startApp } from '../harness.js';

const check = (...flags: string[]): HostCheck => hostCheck(parseConfig(flags, {}, { isTTY: false }));
const SERVING = ['--api-keys=k:t', '--worker-token=w', '--database-url=postgres://localhost/x'];

const LOCAL = [
  '127.0.0.1:8000',
  '192.168.1.7',
  '[::1]:8000',
  '[fe80::1]',
  'localhost',
  'LocalHost:80',
  'app.localhost.',
];
const FOREIGN = [
  'evil.example',
  'evil.example:8000',
  'localhost.evil.example',
  '127.0.0.1.evil.example',
  'notlocalhost',
];
const BROKEN = ['', ':8000', '[::1', 'localhost:80:80', 'a b', 'user@localhost', 'localhost/x'];

describe('the hosts that a server answers to', () => {
  it.each(LOCAL)('in development mode include %s', (host) => {
    expect(check('--dev')(host)).toBeNull();
  });

  it.each([...FOREIGN, ...BROKEN])('in development mode do not include %j', (host) => {
    expect(check('--dev')(host)).toContain(JSON.stringify(host));
  });

  it('include those of --host and --allowed-hosts', () => {
    const refuses = check('--dev', '--host=Dev-Box', '--allowed-hosts=millrace,a.example');
    expect(['dev-box:8000', 'MILLRACE', 'a.example.'].map(refuses)).toEqual([null, null, null]);
    expect(refuses('b.a.example')).not.toBeNull();
  });

  it('are any with * and outside of development mode, until some are listed', () => {
    expect(check('--dev', '--allowed-hosts=*')('evil.example')).toBeNull();
    expect(check(...SERVING)('evil.example')).toBeNull();
    expect(check(...SERVING, '--allowed-hosts=jobs.example')('evil.example')).not.toBeNull();
    expect(check(...SERVING, '--allowed-hosts=jobs.example')('jobs.example')).toBeNull();
  });

  it('are all that a request gets an answer from: others are 421, whatever the path', async () => {
    const { port, close, engine } = await startApp({ checkHost: check('--dev') });
    const ask = (host: string, path: string): Promise<string> =>
      exchange(
        port,
        `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nOrigin: http://evil.example\r\n` +
          `Authorization: Bearer ${KEY_A}\r\nConnection: close\r\n\r\n`,
      );
    for (const path of ['/api/v1/jobs', '/api/v1/nowhere', '/health', '/openapi.json', '/ui/']) {
      const answer = await ask('evil.example', path);
      expect([path, answer.slice(0, 12)]).toEqual([path, 'HTTP/1.1 421']);
      expect(answer).not.toContain('access-control-allow-origin');
      expect(JSON.parse(answer.slice(answer.indexOf('\r\n\r\n')))).toEqual({
        error: 'this server does not answer to the host "evil.example"; see --allowed-hosts',
        code: 'misdirected_request',
        timestamp: expect.any(String) as unknown,
      });
    }
    expect(engine.calls).toEqual([]);
    expect(await ask('localhost', '/api/v1/tasks')).toMatch(/^HTTP\/1.1 200/);
    await close();
  });

  it('are the same on the port of the metrics', async () => {
    const page = { contentType: 'text/plain', text: () => Promise.resolve('secret 1') };
    const probes = { health: () => ({ version: '1' }), ready: () => Promise.resolve(true) };
    const server = await startMetricsServer(page, probes, { host: '127.0.0.1', port: 0, checkHost: check('--dev') });
    const ask = (host: string): Promise<string> =>
      exchange(server.port, `GET /metrics HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
    const answer = await ask('evil.example');
    expect(answer).toMatch(/^HTTP\/1.1 421/);
    expect(answer).toContain('"code":"misdirected_request"');
    expect(answer).not.toContain('secret');
    expect(await ask('127.0.0.1')).toContain('secret 1');
    await server.stop();
  });
});
