/** What is kept of a release in the repository, so that the fault suite can upgrade from it: what runs, and no more. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** What a server needs. The dashboard is files for browsers, and no part of an upgrade under load. */
const PACKAGES = ['contract', 'sdk', 'server', 'cli'];
const LEFT_OUT = ['src', 'cjs', '*.d.ts', '*.d.cts', '*.map', '*.md'];
/** It is part of every clone from then on. */
const MAX_BYTES = 768 * 1024;

/** Writes one archive with a folder per package, made of the packed tarballs, and returns its path. */
export function keepRelease({ tarballs, version, to }) {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-kept-'));
  try {
    for (const name of PACKAGES) {
      const tarball = join(tarballs, `${name === 'cli' ? 'millrace' : `millrace-${name}`}-${version}.tgz`);
      mkdirSync(join(folder, name));
      const excluded = LEFT_OUT.map((pattern) => `--exclude=${pattern}`);
      tar(['-xzf', tarball, '-C', join(folder, name), '--strip-components=1', ...excluded]);
    }
    const path = join(to, `millrace-${version}-kept.tgz`);
    tar(['-czf', path, '-C', folder, ...PACKAGES]);
    const { size } = statSync(path);
    if (size > MAX_BYTES) throw new Error(`${path} has ${size} bytes; ${MAX_BYTES} are the most that is kept`);
    return path;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function tar(args) {
  const { status, stderr, error } = spawnSync('tar', args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`tar failed: ${error?.message ?? stderr}`);
}
