import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DATABASE, PORT, SUPERUSER } from './settings.js';

/** What fits into the address of a Unix socket, its closing NUL not counted: 107 bytes on Linux, fewer elsewhere. */
const LONGEST_ADDRESS = process.platform === 'linux' ? 107 : 103;

export interface Address {
  readonly url: string;
  release(): void;
}

/** How this process reaches the server's socket, whatever the length of the path to it. */
export function addressOf(dataDir: string, password: string): Address {
  const { dir, release } = fits(dataDir) ? { dir: dataDir, release: () => undefined } : shortcut(dataDir);
  const url = `postgresql://${SUPERUSER}:${password}@${encodeURIComponent(dir)}/${DATABASE}`;
  return { url, release };
}

const fits = (dir: string): boolean => Buffer.byteLength(join(dir, `.s.PGSQL.${PORT}`)) <= LONGEST_ADDRESS;

/** A short private link that leads there. One for each process, so that none depends on another's. */
function shortcut(dataDir: string): { dir: string; release: () => void } {
  const room = join(tmpdir(), 'millrace-XXXXXX', 'db');
  const home = mkdtempSync(join(fits(room) ? tmpdir() : '/tmp', 'millrace-'));
  symlinkSync(dataDir, join(home, 'db'));
  return {
    dir: join(home, 'db'),
    release: () => {
      rmSync(home, { recursive: true, force: true });
    },
  };
}
