import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const SCRIPT = fileURLToPath(new URL('terminal.py', import.meta.url));
const hasPython = spawnSync('python3', ['-c', 'import pty']).status === 0;

/** A signal of npm's own kills npm; a clean end of what it ran is told by the log. */
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
    expect(stdout).toMatch(/stopping; a second signal ends at once[^]*embedded PostgreSQL stopped[^]*stopped/);
    expect(stdout).not.toContain('ending at once');
    expect(readdirSync(join(dir, 'users'))).toEqual([]);
    rmSync(dir, { recursive: true });
  });
});
