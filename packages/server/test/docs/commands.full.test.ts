import { spawn, spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { useTestServer } from '../support/server.js';
import { readRepositoryFile } from './generated.js';

const REPOSITORY = fileURLToPath(new URL('../../../..', import.meta.url));

/**
 * Documents whose shell blocks a reader will paste. They run in order against a server in development mode: in the
 * shell that scripts run in (dash, on Debian), and the first two as well in bash and, line by line, in an interactive
 * zsh, which takes no comments.
 */
const STORIES = {
  'README.md': ['{"hello":"world"}', 'ID ', 'echo'],
  'docs/tour.md': [
    '"result":{"hello":"world"}',
    '"slept_for":2',
    '"bytes":4711',
    '"kind":"triggered"',
    '"charge":{"paid":true',
    '"name":"ship","status":"completed"',
  ],
  'docs/http-api.md': [
    ...['"scheduled":1', '"next_cursor":', '"non_retryable"', '"mermaid"', '"next_run_at":[', '"tasks":'],
  ],
  'docs/workflows.md': ['"name":"mail","status":"completed"'],
  'docs/cron.md': ['"next_run_at":['],
  'docs/troubleshooting.md': [
    ...['"no_worker"', '"due_later"', '"completed"', '"groups":[{', '"non_retryable"', '"firings":'],
  ],
} as const;

const BLOCK = /^```sh\n([^]*?)^```$/gm;
/** Every request must succeed; without -f curl exits with 0 even on a 404. */
const STRICT = 'set -eu\ncurl() { command curl -f "$@"; }\n';
/** An interactive zsh reads what is pasted from its input, and asks for each line. */
const PASTE = ['-f', '-i', '-s'];

const server = await useTestServer({ config: { dev: true } });
const isThere = (program: string): boolean => spawnSync(program, ['-c', 'exit 0']).status === 0;
const hasCurl = spawnSync('curl', ['--version']).status === 0;

interface Outcome {
  readonly code: number | null;
  readonly output: string;
  readonly complaints: string;
}

function run(shell: string, args: readonly string[], script: string): Promise<Outcome> {
  const env = { ...process.env, MILLRACE_URL: server.url, PS1: '', PS2: '', PROMPT: '', PROMPT2: '' };
  const child = spawn(shell, args, { cwd: REPOSITORY, env, stdio: ['pipe', 'pipe', 'pipe'] });
  let output = '';
  let complaints = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (complaints += text));
  child.stdin.end(script);
  return new Promise((resolve) => child.on('close', (code) => resolve({ code, output, complaints })));
}

const blocksOf = (path: string): string[] => [...readRepositoryFile(path).matchAll(BLOCK)].map(([, text]) => text!);

function scriptOf(path: string): string {
  const blocks = blocksOf(path).filter((block) => !block.startsWith('npm '));
  return STRICT + blocks.join('\n').replaceAll('http://localhost:8000', server.url);
}

function expectStory(path: keyof typeof STORIES, { code, output, complaints }: Outcome): void {
  expect({ code, output, complaints }).toEqual({
    code: 0,
    output: expect.not.stringContaining('"error":"'),
    complaints: expect.not.stringMatching(/not found|parse error|unknown/),
  });
  for (const text of STORIES[path]) expect(output).toContain(text);
}

describe.runIf(hasCurl)('the commands in', () => {
  it.each(Object.keys(STORIES) as (keyof typeof STORIES)[])('%s work', async (path) => {
    expectStory(path, await run('sh', ['-s'], scriptOf(path)));
  });

  it.each([
    ['README.md', 'bash', ['-s']],
    ['docs/tour.md', 'bash', ['-s']],
    ['README.md', 'zsh', PASTE],
    ['docs/tour.md', 'zsh', PASTE],
  ] as const)('%s work in %s', async (path, shell, args) => {
    if (isThere(shell)) expectStory(path, await run(shell, args, scriptOf(path)));
  });
});

it.each(documents())('%s has no shell block with a prompt, or with a comment behind a command', (path) => {
  // The code of an example worker is a file, not something to paste.
  const pasted = blocksOf(path).filter((block) => !block.startsWith('#!'));
  const lines = pasted.flatMap((block) => block.split('\n'));
  expect(lines.filter((line) => /^\s*\$ |(^|\s)#\s/.test(line))).toEqual([]);
});

function documents(): string[] {
  const pages = readdirSync(join(REPOSITORY, 'docs')).filter((name) => name.endsWith('.md'));
  return ['README.md', 'CONTRIBUTING.md', ...pages.map((name) => `docs/${name}`)];
}
