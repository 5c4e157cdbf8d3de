import { execFile, spawnSync, type ExecFileException } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { MILLRACE, spawnMillrace } from '../../server/test/support/processes.js';
import { KEY_A, KEY_B, useTestServer, WORKER_TOKEN } from '../../server/test/support/server.js';
import { until } from '../../server/test/support/until.js';
import { COMMANDS } from '../src/dispatch/registry.js';

/** What depends on the process: its streams, its signals, what it loads. */
const server = await useTestServer();
const home = mkdtempSync(join(tmpdir(), 'millrace-home-'));
afterAll(() => rmSync(home, { recursive: true, force: true }));

const support = (name: string): string => fileURLToPath(new URL(`support/${name}`, import.meta.url));
const environment = {
  HOME: home,
  MILLRACE_URL: server.url,
  MILLRACE_TOKEN: KEY_A,
  MILLRACE_WORKER_TOKEN: WORKER_TOKEN,
};
const has = (program: string): boolean => spawnSync(program, ['--version']).status === 0;

interface Output {
  readonly code: number;
  readonly text: string;
}

/** Not synchronously: the server is in this process. Standard error is part of the text, as it is in a terminal. */
function output(program: string, args: readonly string[], env: Record<string, string> = environment): Promise<Output> {
  return new Promise((resolve) => {
    const shell = ['-c', '"$@" 2>&1', 'sh', program, ...args];
    const done = (error: ExecFileException | null, text: string): void =>
      resolve({ code: typeof error?.code === 'number' ? error.code : 0, text });
    const child = execFile('sh', shell, { env: { PATH: process.env.PATH!, ...env }, maxBuffer: 2 ** 24 }, done);
    child.stdin?.end();
  });
}

const millrace = (...args: readonly string[]): Promise<Output> => output(process.execPath, [MILLRACE, ...args]);

describe('each command', () => {
  const flow = '{"name":"one","steps":[{"name":"a","task_name":"echo"}]}';
  const job = '{"task_name":"resize","config":{"queue":"every"}}';
  /** Each on what the ones before it left. Time, ids and numbers are compared by their shape. */
  const calls = (file: string): string[][] => [
    ['run', 'echo', '{"a":1}', '--wait'],
    ['jobs', 'get', '@last'],
    ['jobs', 'watch', '@last'],
    ['jobs', 'wait', '@last'],
    ['tail', '--count=1'],
    ['jobs', 'attempts', '@last'],
    ['jobs', 'why', '@last'],
    ['jobs', 'logs', '@last'],
    ['tail', '--task=echo', '--lines=1', '--count=1'],
    ['jobs', 'checkpoints', '@last'],
    ['signal', 'paid', '{"cents":1}', '--key=order-7', '--ttl=1h'],
    ['waits', '--ask'],
    ['jobs', 'create', job],
    ['jobs', 'cancel', '@last'],
    ['jobs', 'rerun', '@last'],
    ['jobs', 'run-now', '@last'],
    ['jobs', 'cancel', '--queue=every', '--yes'],
    ['jobs', 'import', file],
    ['jobs', 'list', '--limit=3'],
    ['operations', 'list', '--limit=1'],
    ['operations', 'get', '@1'],
    ['operations', 'watch', '@1'],
    ['operations', 'stop', '@1'],
    ['run', 'fail', '{"message":"boom","permanent":true}', '--wait'],
    ['dlq', 'list', '--limit=1'],
    ['dlq', 'get', '@1'],
    ['dlq', 'replay', '@1'],
    ['dlq', 'groups', '--limit=1'],
    ['workflows', 'start', flow, '--wait'],
    ['workflows', 'get', '@last'],
    ['workflows', 'watch', '@last'],
    ['workflows', 'diagram', '@last'],
    ['workflows', 'list', '--limit=1'],
    ['workflows', 'cancel', '@last'],
    ['workflows', 'resume', '@last'],
    ['cron', 'put', 'nightly', '30 3 * * *', 'echo'],
    ['cron', 'list'],
    ['cron', 'next', 'nightly', '--count=2'],
    ['cron', 'trigger', 'nightly'],
    ['cron', 'firings', 'nightly', '--limit=1'],
    ['cron', 'pause', 'nightly'],
    ['cron', 'resume', 'nightly'],
    ['cron', 'delete', 'nightly', '--yes'],
    ['queues'],
    ['queues', 'get', 'every'],
    ['queues', 'pause', 'every'],
    ['queues', 'resume', 'every'],
    ['queues', 'set', 'every', '--running=none'],
    ['limits', 'list'],
    ['audit'],
    ['workers'],
    ['worker', '/not/there.mjs'],
    ['open', '--print'],
    ['config', 'show'],
    ['config', 'set', 'url', 'https://millrace.example.com', '--profile=other'],
    ['config', 'use', 'other'],
    ['completion', 'bash'],
  ];

  it('is among them', () => {
    const called = calls('').map((words) => words.join(' '));
    const missing = COMMANDS.filter(
      (command) => 'load' in command && !called.some((call) => `${call} `.startsWith(`${command.spec.name} `)),
    );
    expect(missing.map(({ spec }) => spec.name)).toEqual([]);
  });

  it.runIf(has('python3'))('prints the same in a terminal and in a pipe, but for colour and progress', async () => {
    const file = join(home, 'jobs.ndjson');
    writeFileSync(file, `${job}\n${job}\n`);
    const program = [process.execPath, support('every-command.mjs'), JSON.stringify(calls(file))] as const;
    const piped = await output(program[0], program.slice(1));
    const other = { ...environment, HOME: join(home, 'other'), MILLRACE_TOKEN: KEY_B, TERM: 'xterm' };
    const shown = await output('python3', [support('in-terminal.py'), ...program], other);
    expect(shown.text).toContain('\u001b[32mcompleted\u001b[39m');
    expect(piped.text).not.toContain('\u001b');
    expect(shapeOf(shown.text)).toEqual(shapeOf(piped.text));
  });

  /** Lines without colour, progress, and what differs from run to run. */
  function shapeOf(text: string): string[] {
    return text
      .replaceAll('\r\n', '\n')
      .replaceAll(/\r\u001b\[2K[^\r\n]*(?=\r\u001b\[2K)/g, '')
      .replaceAll('\r\u001b[2K', '')
      .replaceAll(/\u001b\[\d+m/g, '')
      .replaceAll(new RegExp(`${home}(/other)?/\\.`, 'g'), '~/.')
      .replaceAll(/--cursor \S+/g, '--cursor CURSOR')
      .replaceAll(server.url, 'URL')
      .replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, 'ID')
      .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME')
      .replaceAll(/\b[0-9a-f]{16}\b/g, 'HEX')
      .replaceAll(/\b\d+(\.\d+)?(ms|[smhd])\b/g, 'SPAN')
      .replaceAll(/\d+/g, '0')
      .replaceAll(/ +/g, ' ')
      .split('\n');
  }
});

describe('worker', () => {
  it('runs what a module exports until it is told to stop', async () => {
    const worker = spawnMillrace({ args: ['worker', support('handlers.mjs')], env: environment });
    await until(() => worker.stderr().includes('running add, negate on sums (10)') || worker.stderr(), {
      what: 'its start',
    });
    expect(await millrace('run', 'add', '{"a":2,"b":3}', '--queue=sums', '--wait')).toEqual({
      code: 0,
      text: '{"sum":5}\n',
    });
    expect(await millrace('run', 'negate', '{"a":2}', '--queue=sums', '--wait')).toEqual({
      code: 0,
      text: '{"negative":-2}\n',
    });
    worker.signal('SIGTERM');
    expect((await worker.exited).code).toBe(0);
    expect(worker.stdout()).toBe('');
    expect(worker.stderr()).toMatch(/completed add \S{36} attempt 1 in \d+ ms\n/);
  });

  it('says what is wrong with a module, and with the token', async () => {
    const broken = join(home, 'broken.mjs');
    writeFileSync(broken, '\n\nthrow new Error("no such mill");\n');
    expect(await millrace('worker', broken)).toEqual({
      code: 1,
      text: `millrace: FILE cannot be loaded: no such mill (file://${broken}:3)\n`,
    });
    expect(await millrace('worker', join(home, 'not-there.mjs'))).toEqual({
      code: 2,
      text: 'millrace: FILE cannot be read\n',
    });
    const refused = await millrace('worker', support('handlers.mjs'), '--token=not-a-token-of-workers');
    expect(refused).toMatchObject({ code: 4 });
    expect(refused.text).not.toContain('not-a-token-of-workers');
  });
});

it('Ctrl-C exits with 130', async () => {
  const waiting = spawnMillrace({
    args: ['jobs', 'list', '--queue=none', '--watch', '--interval=50ms'],
    env: environment,
  });
  await until(() => waiting.stderr().includes('no jobs') || 'nothing yet', { what: 'its first list' });
  waiting.signal('SIGINT');
  expect((await waiting.exited).code).toBe(130);
  expect(waiting.stderr()).toMatch(/millrace: interrupted\n$/);
});

it('a reader that stops early is no failure', async () => {
  const { code } = await output('sh', ['-c', '"$0" "$1" --help | head -1', process.execPath, MILLRACE]);
  expect(code).toBe(0);
});

describe('completion', () => {
  /** Asks what the last of the words may become, as Tab does. */
  const ASK: Readonly<Record<string, string>> = {
    bash: `eval "$(millrace completion bash)"; COMP_WORDS=(millrace "$@"); COMP_CWORD=$#; _millrace
      if [ -n "\${COMPREPLY[*]}" ]; then printf "%s\\n" "\${COMPREPLY[@]}"; else compgen -f -- "\${@: -1}"; fi`,
    fish: 'millrace completion fish | source; complete -C "millrace $argv"',
    zsh: `autoload -Uz compinit; compinit -D; eval "$(millrace completion zsh)"
      compadd() { shift; print -rl -- "$@"; }
      _files() { print -rl -- $words[-1]*(N); }
      words=(millrace "$@"); CURRENT=$#words; _millrace`,
  };
  const asked = (shell: string, words: readonly string[]): string[] =>
    shell === 'fish' ? [ASK[shell]!, ...words] : [ASK[shell]!, shell, ...words];

  for (const shell of Object.keys(ASK)) {
    it.runIf(has(shell)).each([
      [
        ['jobs', 'wa'],
        ['wait', 'watch'],
      ],
      [
        ['queues', ''],
        ['get', 'pause', 'resume', 'set'],
      ],
      [['jobs', 'import', 'wanted'], ['wanted.ndjson']],
    ])(`in ${shell} %j becomes %j, and files only where one is expected`, async (words, expected) => {
      const [bin, files] = [join(home, 'bin'), join(home, 'files')];
      for (const folder of [bin, files]) mkdirSync(folder, { recursive: true });
      writeFileSync(join(files, 'wanted.ndjson'), '');
      writeFileSync(join(bin, 'millrace'), `#!/bin/sh\nexec '${process.execPath}' '${MILLRACE}' "$@"\n`, {
        mode: 0o755,
      });
      const path = { ...environment, PATH: `${bin}:${process.env.PATH ?? ''}` };
      const { text } = await output('sh', ['-c', 'cd "$0"; "$@"', files, shell, '-c', ...asked(shell, words)], path);
      expect(text.split('\n').filter(Boolean).sort()).toEqual(expected);
    });
  }
});

describe('what is loaded', () => {
  it('--version takes at most three times what node takes', () => {
    const tellCpuTime = `process.on('exit', () => {
      const { user, system } = process.cpuUsage();
      process.stderr.write(String(user + system));
    })`;
    const hook = `--import=data:text/javascript,${encodeURIComponent(tellCpuTime)}`;
    const least = (args: readonly string[]): number =>
      Math.min(...Array.from({ length: 5 }, () => Number(spawnSync(process.execPath, [hook, ...args]).stderr)));
    const node = least(['-e', '0']);
    expect(node).toBeGreaterThan(0);
    expect(least([MILLRACE, '--version'])).toBeLessThan(3 * node);
  });

  it('nothing of the server: without it, everything works but the server', async () => {
    const modules = join(home, 'alone', 'node_modules');
    const packages = fileURLToPath(new URL('../../', import.meta.url));
    for (const [from, to] of [
      ['cli', 'millrace'],
      ['sdk', '@millrace/sdk'],
    ] as const) {
      for (const part of ['dist', 'bin', 'package.json']) {
        if (from === 'sdk' && part === 'bin') continue;
        cpSync(join(packages, from, part), join(modules, to, part), { recursive: true });
      }
    }
    const program = join(modules, 'millrace', 'bin', 'millrace.mjs');
    const alone = (...args: readonly string[]): Promise<Output> => output(process.execPath, [program, ...args]);
    expect(await alone('run', 'echo', '{"a":1}', '--wait')).toEqual({ code: 0, text: '{"a":1}\n' });
    expect(await alone('--help')).toMatchObject({ code: 0 });
    const missing = 'millrace: the server is not installed here; npm install @millrace/server brings it\n';
    for (const args of [['dev'], ['serve', '--help'], ['openapi']])
      expect(await alone(...args)).toEqual({ code: 1, text: missing });
  });
});
