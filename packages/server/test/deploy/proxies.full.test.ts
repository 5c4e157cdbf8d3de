import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createJob } from '../engine/kit.js';
import { readRepositoryFile, repositoryFile } from '../docs/generated.js';
import { freePort } from '../support/free-port.js';
import { KEY_A, useTestServer } from '../support/server.js';
import { until } from '../support/until.js';
import { programOr } from './tools.js';

const server = await useTestServer();
const WHAT = 'streaming through the sample in deploy';
const caddy = programOr('caddy', WHAT);
const nginx = programOr('nginx', WHAT);
const openssl = programOr('openssl', WHAT);

function workspace(): string {
  const directory = mkdtempSync(join(tmpdir(), 'millrace-proxy-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** Runs a proxy until the test ends; fails with its complaints if it ends earlier. */
function started(program: string, args: readonly string[], env: NodeJS.ProcessEnv, cwd: string): { failed(): void } {
  const child = spawn(program, args, { cwd, env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
  let complaints = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (complaints += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (complaints += text));
  const ended = new Promise((resolve) => child.on('close', resolve));
  onTestFinished(async () => {
    child.kill('SIGTERM');
    await ended;
  });
  return {
    failed: () => {
      if (child.exitCode !== null) throw new Error(`${program} ended: ${complaints}`);
    },
  };
}

interface Answer {
  readonly status: number;
  /** What has arrived so far. */
  body(): string;
  readonly complete: Promise<string>;
}

function get(port: number, path: string): Promise<Answer> {
  const headers = { authorization: `Bearer ${KEY_A}`, host: 'localhost' };
  const options = { port, path, headers, servername: 'localhost', rejectUnauthorized: false, host: '127.0.0.1' };
  return new Promise((resolve, reject) => {
    const sent = request(options, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (part: string) => (text += part));
      const complete = new Promise<string>((done) => response.on('end', () => done(text)));
      resolve({ status: response.statusCode!, body: () => text, complete });
    });
    sent.on('error', reject).end();
  });
}

/** An event stream and a long poll through the proxy: what happens is seen while the answer is still open. */
async function expectStreaming(port: number, proxy: { failed(): void }): Promise<void> {
  await until(
    async () => {
      proxy.failed();
      return (await get(port, '/ready').catch(() => null))?.status === 200;
    },
    { what: 'the proxy to reach the service' },
  );
  const id = await createJob(server.a, 'remote', { task_name: 'streamed' });
  const events = await get(port, `/api/v1/jobs/${id}/events`);
  const ended = async (): Promise<boolean> => {
    const { complete } = await get(port, `/api/v1/jobs/${id}?wait_secs=30`);
    return (await complete).includes('"status":"completed"');
  };
  const waiting = ended();
  await until(() => events.body().includes('"status":"pending"'), {
    what: 'the first event, while the stream is open',
  });
  const leased = await server.worker.post('/api/v1/queues/remote/lease', { lease_secs: 3_600 });
  const { lease_token } = leased.body.jobs[0] as { lease_token: string };
  await until(() => events.body().includes('"status":"running"'), { what: 'the second, while the job runs' });
  await server.worker.post(`/api/v1/jobs/${id}/complete`, { lease_token });
  expect(await events.complete).toContain('"status":"completed"');
  // Its time may have been up before the job ended, on a machine that is held up.
  expect((await waiting) || (await ended())).toBe(true);
}

describe('deploy/caddy/Caddyfile', () => {
  it('buffers nothing and never repeats what was sent', () => {
    const text = readRepositoryFile('deploy/caddy/Caddyfile');
    expect(text).toMatch(/^\t\tflush_interval -1$/m);
    expect(text).not.toContain('lb_retry_match');
  });

  it.runIf(caddy)('streams', async () => {
    const directory = workspace();
    const [port, plainPort] = [await freePort(), await freePort()];
    const sample = readRepositoryFile('deploy/caddy/Caddyfile').replace(
      /^\{\$MILLRACE_SITE/m,
      // Certificates of its own, ports that anybody may use, and no administration.
      `{\n\tadmin off\n\thttp_port ${plainPort}\n\thttps_port ${port}\n\tlocal_certs\n\tskip_install_trust\n}\n\n$&`,
    );
    writeFileSync(join(directory, 'Caddyfile'), sample);
    const env = {
      HOME: directory,
      XDG_DATA_HOME: directory,
      XDG_CONFIG_HOME: directory,
      MILLRACE_UPSTREAMS: new URL(server.url).host,
    };
    const checked = spawnSync(caddy!, ['validate', '--config', repositoryFile('deploy/caddy/Caddyfile')], {
      env: { ...process.env, ...env },
      encoding: 'utf8',
    });
    expect(checked.stderr + checked.stdout).toContain('Valid configuration');
    await expectStreaming(port, started(caddy!, ['run'], env, directory));
  });
});

describe('deploy/nginx/millrace.conf', () => {
  it('buffers nothing and never repeats what was sent', () => {
    const text = readRepositoryFile('deploy/nginx/millrace.conf');
    expect(text).toMatch(/^ +proxy_buffering off;$/m);
    expect(text).not.toMatch(/^[^#]*non_idempotent/m);
  });

  it.runIf(nginx !== null && openssl !== null)('streams', async () => {
    const directory = workspace();
    const [port, plainPort] = [await freePort(), await freePort()];
    const certificate = ['-newkey', 'rsa:2048', '-nodes', '-subj', '/CN=localhost', '-keyout', 'privkey.pem'];
    spawnSync(openssl!, ['req', '-x509', ...certificate, '-out', 'fullchain.pem'], { cwd: directory });
    mkdirSync(join(directory, 'logs'));
    const sample = readRepositoryFile('deploy/nginx/millrace.conf')
      .replaceAll('/etc/ssl/millrace/', `${directory}/`)
      .replace('server 127.0.0.1:8000', `server ${new URL(server.url).host}`)
      .replace(/^ +server 127\.0\.0\.1:8001.*\n/m, '')
      .replace('listen 443 ssl', `listen 127.0.0.1:${port} ssl`)
      .replace('listen 80;', `listen 127.0.0.1:${plainPort};`);
    const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path t-${name};`);
    writeFileSync(
      join(directory, 'nginx.conf'),
      `daemon off; pid ${directory}/pid; error_log stderr; worker_processes 1; user root;
       events {} http { access_log off; ${paths.join(' ')} ${sample} }`,
    );
    const proxy = started(nginx!, ['-p', directory, '-c', 'nginx.conf', '-e', 'stderr'], {}, directory);
    await expectStreaming(port, proxy);
  });
});
