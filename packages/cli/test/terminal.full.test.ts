import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { isRunning } from '../../server/test/support/processes.js';
import { until } from '../../server/test/support/until.js';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const SCRIPT = fileURLToPath(new URL('terminal.py', import.meta.url));
const hasPython = spawnSync('python3', ['-c', 'import pty']).status === 0;

/** A signal to npm kills npm itself; the log shows that the program it ran exited cleanly. */
const NPM_AFTER_CTRL_C = [0, 130, -2];

describe.runIf(hasPython)('Ctrl-C in a terminal', () => {
  it.each([
    ['npm start', ['npm', 'start', '--silent', '--'], NPM_AFTER_CTRL_C],
    ['the binary', [process.execPath, 'packages/cli/bin/millrace.mjs'], [0]],
  ])('stops %s and its database in order', (_, command, exits) => {
    const dir = mkdtempSync(join(tmpdir(), 'millrace-tty-'));
    const flags = ['--dev', '--api-port=0', '--metrics-port=0', '--host=127.0.0.1', `--data-dir=${dir}`];
    const { stdout } = spawnSync('python3', [SCRIPT, 'Try it:', ...command, ...flags], { cwd: ROOT, encoding: 'utf8' });
    const { exit } = JSON.parse(stdout.trimEnd().split('\n').at(-1)!) as { exit: number };
    expect(exits).toContain(exit);
    expect(stdout).toMatch(/stopping; a second signal exits at once[^]*embedded PostgreSQL stopped[^]*stopped/);
    expect(stdout).not.toContain('exiting at once');
    expect(readdirSync(join(dir, 'users'))).toEqual([]);
    rmSync(dir, { recursive: true });
  });
});

it('SIGTERM to npm reaches the service behind its shell', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'millrace-npm-'));
  const flags = ['--dev', '--api-port=0', '--metrics-port=0', '--host=127.0.0.1', `--data-dir=${dir}`];
  const npm = spawn('npm', ['start', '--silent', '--', ...flags], { cwd: ROOT, stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void npm.kill());
  let stdout = '';
  npm.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  const line = await until(() => /^.*"msg":"listening".*$/m.exec(stdout), {
    what: 'the service to listen',
  });
  const { pid } = JSON.parse(line[0]) as { pid: number };
  npm.kill('SIGTERM');
  await until(() => !isRunning(pid), { what: 'the service to end' });
  // It has ended before its last lines have been read from the pipe.
  await expect.poll(() => stdout).toMatch(/embedded PostgreSQL stopped[^]*"stopped"/);
  rmSync(dir, { recursive: true });
});
