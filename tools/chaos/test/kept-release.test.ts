import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import { unpackRelease } from '../src/build-copy.js';

it('the release that is kept for upgrades runs from its archive', () => {
  const dir = mkdtempSync(join(tmpdir(), 'millrace-previous-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  const archive = fileURLToPath(new URL('../releases/previous.tgz', import.meta.url));
  const program = unpackRelease(dir, archive);
  const { version } = JSON.parse(readFileSync(join(dir, 'packages/server/package.json'), 'utf8')) as {
    version: string;
  };
  expect(execFileSync(process.execPath, [program, '--version'], { encoding: 'utf8' })).toContain(version);
  // Serving needs more of it than that: every option is read from the server's package.
  expect(execFileSync(process.execPath, [program, 'serve', '--help'], { encoding: 'utf8' })).toContain(
    '--auto-migrate',
  );
});
