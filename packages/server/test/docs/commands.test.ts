import { spawn, spawnSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { useTestServer } from '../support/server.js';
import { readRepositoryFile } from './generated.js';

/** Documents whose shell blocks a reader will paste. They run in order against a server in development mode. */
const hasCurl = spawnSync('curl', ['--version']).status === 0;

const BLOCK = /^```sh\n([^]*?)^```$/gm;
/** Every request must succeed; without -f curl exits with 0 even on a 404. */
const STRICT = 'set -eu\ncurl() { command curl -f "$@"; }\n';

const server = await useTestServer({ config: { dev: true } });

function run(script: string): Promise<{ code: number | null; output: string }> {
  const child = spawn('sh', ['-c', script], { stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => (output += text));
  }
  return new Promise((resolve) => child.on('close', (code) => resolve({ code, output })));
}

it.runIf(hasCurl).each([
  [
    'README.md',
    [
      '"result":{"hello":"world"}',
      '"slept_for":2',
      '"bytes":4711',
      '"kind":"triggered"',
      '"charge":{"paid":true',
      '"name":"ship","status":"completed"',
    ],
  ],
  [
    'docs/http-api.md',
    ['"scheduled":1', '"next_cursor":', '"non_retryable"', '"mermaid"', '"next_run_at":[', '"tasks":'],
  ],
  ['docs/workflows.md', ['"name":"mail","status":"completed"']],
  ['docs/cron.md', ['"next_run_at":[']],
  [
    'docs/troubleshooting.md',
    ['"no_worker"', '"due_later"', '"completed"', '"groups":[{', '"non_retryable"', '"firings":'],
  ],
])('the commands in %s work', async (path, expected) => {
  const blocks = [...readRepositoryFile(path).matchAll(BLOCK)].map(([, text]) => text!);
  const script = blocks.filter((block) => !block.startsWith('npm ')).join('\n');
  expect(script).toContain('http://localhost:8000');
  const { code, output } = await run(STRICT + script.replaceAll('http://localhost:8000', server.url));
  expect({ code, output }).toEqual({ code: 0, output: expect.not.stringContaining('"error":"') });
  for (const text of expected) expect(output).toContain(text);
});
