// What a user does first, with the packages as they are published: a service with its dashboard, a client, a worker.
// Copied into an empty folder and run there by scripts/packages.mjs.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { Millrace, task, type } from '@millrace/sdk';
import { FakeServer } from '@millrace/sdk/testing';
import { Worker } from '@millrace/sdk/worker';

const double = task({ name: 'double', queue: 'numbers', input: type(), output: type() });
const handlers = [double.handle(({ n }) => ({ n: 2 * n }))];
const quiet = () => undefined;
const logger = { debug: quiet, info: quiet, warn: quiet, error: quiet };

const fake = new FakeServer();
const pretended = await new Millrace(fake.options).enqueue(double, { n: 4 });
await fake.drain(handlers);
assert.deepEqual(await pretended.result(), { n: 8 });

if (process.argv.includes('--server')) await onARealServer();
console.log('ok');

async function onARealServer() {
  const server = await startServer();
  const options = { url: server.url, token: 'anything' };
  const millrace = new Millrace(options);
  const worker = new Worker({ ...options, logger, queues: { numbers: 2 }, handlers });
  const running = worker.run();
  assert.deepEqual(await (await millrace.enqueue(double, { n: 21 })).result({ timeout: '1m' }), { n: 42 });
  await worker.stop();
  await checkDashboard(server.url);
  assert.deepEqual(await running, { completed: 1, failed: 0, released: 0 });
  await server.stop();
}

/** The page, and every file that it names, as a browser would fetch them. */
async function checkDashboard(url) {
  const page = await fetch(`${url}/ui/`);
  const text = await page.text();
  assert.equal(page.status, 200, text);
  const names = [...text.matchAll(/"\.\/(assets\/[^"]+)"/g)].map(([, name]) => name);
  assert.ok(names.some((name) => name.endsWith('.js')) && names.some((name) => name.endsWith('.css')), text);
  for (const name of names) {
    const asset = await fetch(`${url}/ui/${name}`, { headers: { 'accept-encoding': 'br' } });
    assert.equal(asset.status, 200, name);
    assert.match(asset.headers.get('cache-control'), /immutable/);
    assert.ok((await asset.arrayBuffer()).byteLength > 0, name);
  }
}

/** `millrace --dev`; whatever it says on stderr is passed on, and counts as a warning. */
async function startServer() {
  const manifest = createRequire(import.meta.url).resolve('millrace/package.json');
  const program = join(dirname(manifest), 'bin/millrace.mjs');
  const data = mkdtempSync(join(tmpdir(), 'millrace-packages-data-'));
  const flags = ['--dev', '--host=127.0.0.1', '--api-port=0', '--metrics-port=0', '--log-format=json'];
  const child = spawn(process.execPath, [program, ...flags, `--data-dir=${data}`], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  process.once('exit', () => child.kill('SIGKILL'));
  const exited = once(child, 'exit');
  for await (const line of createInterface({ input: child.stdout })) {
    const { msg, api } = JSON.parse(line);
    if (msg !== 'listening') continue;
    child.stdout.resume();
    const stop = async () => {
      child.kill('SIGTERM');
      assert.deepEqual(await exited, [0, null]);
      rmSync(data, { recursive: true, force: true });
    };
    return { url: api, stop };
  }
  throw new Error('the server ended before it listened');
}
