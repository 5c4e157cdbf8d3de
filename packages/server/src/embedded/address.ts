import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DATABASE, PORT, SUPERUSER } from './settings.js';

/** The longest path of a Unix socket, without its closing NUL: 107 bytes on Linux, fewer elsewhere. */
const LONGEST_ADDRESS = process.platform === 'linux' ? 107 : 103;

export interface Address {
  readonly url: string;
  release(): void;
}

/** How this process reaches the server's socket, however long its path is. */
export function addressOf(dataDir: string, password: string): Address {
  const { dir, release } = fits(dataDir) ? { dir: dataDir, release: () => undefined } : shortcut(dataDir);
  const url = `postgresql://${SUPERUSER}:${password}@${encodeURIComponent(dir)}/${DATABASE}`;
  return { url, release };
}

const fits = (dir: string): boolean => Buffer.byteLength(join(dir, `.s.PGSQL.${PORT}`)) <= LONGEST_ADDRESS;

/** A short private link to the data directory. One per process, so that none depends on another's. */
function shortcut(dataDir: string): { dir: string; release: () => void } {
  const inTmpdir = join(tmpdir(), 'millrace-XXXXXX', 'db');
  const home = mkdtempSync(join(fits(inTmpdir) ? tmpdir() : '/tmp', 'millrace-'));
  symlinkSync(dataDir, join(home, 'db'));
  return {
    dir: join(home, 'db'),
    release: () => {
      rmSync(home, { recursive: true, force: true });
    },
  };
}
