import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import fastify, { type FastifyInstance } from 'fastify';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { dashboardFiles, loadDashboard } from '../../../src/http/ui/files.js';
import { registerUi } from '../../../src/http/ui/index.js';

const SCRIPT = 'console.log(1);';
const INDEX = '<!doctype html>\n<html lang="en"><script type="module" src="./assets/main-abc.js"></script></html>';

describe('the dashboard under /ui/', () => {
  let directory: string;
  let app: FastifyInstance;
  const open: FastifyInstance[] = [];
  const serve = (dev = false): FastifyInstance => {
    const served = fastify();
    open.push(served);
    registerUi(served, { dev, directory });
    return served;
  };
  const build = async (): Promise<void> => {
    await mkdir(join(directory, 'assets'));
    await writeFile(join(directory, 'assets', 'main-abc.js'), SCRIPT);
    await writeFile(join(directory, 'assets', 'main-abc.js.br'), brotliCompressSync(SCRIPT));
    await writeFile(join(directory, 'assets', 'main-abc.js.gz'), gzipSync(SCRIPT));
    await writeFile(join(directory, 'assets', 'page-def.js'), SCRIPT);
    await writeFile(join(directory, 'secret.txt'), 'not an asset');
    await writeFile(join(directory, 'index.html'), INDEX);
  };

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'millrace-ui-'));
    app = serve();
  });
  afterEach(async () => {
    for (const served of open.splice(0)) await served.close();
    await rm(directory, { recursive: true });
  });

  it('is where / leads, by a path that survives the prefix of a proxy', async () => {
    for (const url of ['/', '/ui']) {
      const { statusCode, headers } = await app.inject(url);
      expect([statusCode, headers.location]).toEqual([302, 'ui/']);
    }
  });

  it('says that it has not been built, and appears once it has', async () => {
    const before = await app.inject('/ui/');
    expect(before.statusCode).toBe(404);
    expect(before.body).toContain('its dashboard is not installed, or has not been built');
    await build();
    expect((await app.inject('/ui/')).statusCode).toBe(200);
  });

  it('is found by the name of its package; without that package there is none', async () => {
    const module = pathToFileURL(join(directory, 'node_modules/@millrace/server/dist/http/ui/files.js')).href;
    expect(dashboardFiles(module)).toBeNull();
    expect(await loadDashboard(dashboardFiles(module))).toBeNull();
    const home = join(directory, 'node_modules/@millrace/dashboard');
    await mkdir(home, { recursive: true });
    await writeFile(join(home, 'package.json'), '{"exports":{"./package.json":"./package.json"}}');
    expect(dashboardFiles(module)).toBe(join(await realpath(home), 'dist'));
    expect(await loadDashboard(dashboardFiles(module))).toBeNull();
  });

  it('answers every address with the document, whose paths lead to the assets from there', async () => {
    await build();
    for (const [url, path] of [
      ['/ui/', './assets/'],
      ['/ui/jobs', './assets/'],
      ['/ui/jobs/1?x=a/b', '../assets/'],
      ['/ui/queues/a%2Fb', '../assets/'],
      ['/ui/a/b/c', '../../assets/'],
    ] as const) {
      const { statusCode, body } = await app.inject(url);
      expect(statusCode).toBe(200);
      expect(body).toContain(`src="${path}main-abc.js"`);
    }
  });

  it('carries the content policy with trusted types, and is asked for again each time', async () => {
    await build();
    const { headers } = await app.inject('/ui/jobs');
    expect(headers['cache-control']).toBe('no-cache');
    const policy = String(headers['content-security-policy']).split('; ');
    expect(policy).toEqual([
      "default-src 'none'",
      "script-src 'self'",
      "style-src 'self'",
      "img-src 'self'",
      "connect-src 'self'",
      "base-uri 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
      "require-trusted-types-for 'script'",
      "trusted-types 'none'",
    ]);
  });

  it('tells the page whether the server takes any token', async () => {
    await build();
    expect((await app.inject('/ui/')).body).toContain('<html lang');
    expect((await serve(true).inject('/ui/')).body).toContain('<html data-millrace-dev="true" lang');
  });

  it('sends assets for ever, compressed as the client prefers', async () => {
    await build();
    const get = (accept: string, name = 'main-abc.js') =>
      app.inject({ url: `/ui/assets/${name}`, headers: { 'accept-encoding': accept } });
    for (const [accept, encoding] of [
      ['gzip, deflate, br', 'br'],
      ['gzip', 'gzip'],
      ['br;q=0, gzip', 'gzip'],
      ['identity', undefined],
      ['', undefined],
    ] as const) {
      const { statusCode, headers } = await get(accept);
      expect([statusCode, headers['content-encoding']]).toEqual([200, encoding]);
      expect(headers['cache-control']).toBe('public, max-age=31536000, immutable');
      expect(headers['content-type']).toBe('text/javascript; charset=utf-8');
      expect(headers.vary).toBe('accept-encoding');
    }
    const plain = await get('br', 'page-def.js');
    expect([plain.headers['content-encoding'], plain.body]).toEqual([undefined, SCRIPT]);
  });

  it('serves nothing else from the disk', async () => {
    await build();
    for (const name of ['missing.js', '..%2Fsecret.txt', '..%2F..%2F..%2Fetc%2Fpasswd', 'main-abc.js.br']) {
      const { statusCode, body } = await app.inject(`/ui/assets/${name}`);
      expect(statusCode).toBe(404);
      expect(JSON.parse(body)).toMatchObject({ code: 'not_found' });
    }
  });
});
