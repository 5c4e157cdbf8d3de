import { readFileSync, statSync } from 'node:fs';
import { EmbeddedError } from './errors.js';

/**
 * The account that runs PostgreSQL, which refuses to run as root. Null: the current user, who is not root. Root hands
 * PostgreSQL to the owner of the data directory and, for a new one, to an account that nearly every system has.
 */
export interface Account {
  readonly uid: number;
  readonly gid: number;
}

const CANDIDATES = ['postgres', 'nobody', 'daemon'] as const;

export function chooseAccount(dataDir: string): Account | null {
  const uid = process.getuid?.();
  const owner = ownerOf(dataDir);
  if (uid !== 0) {
    if (owner !== null && owner.uid !== uid) {
      throw new EmbeddedError(
        `${dataDir} belongs to another user (uid ${owner.uid}); run as that user or use another --data-dir`,
      );
    }
    return null;
  }
  if (owner?.uid === 0) {
    throw new EmbeddedError(
      `${dataDir} belongs to root, and PostgreSQL refuses to run as root: chown -R it to another user`,
    );
  }
  return owner ?? unprivilegedAccount();
}

function ownerOf(dir: string): Account | null {
  const stat = statSync(dir, { throwIfNoEntry: false });
  return stat === undefined ? null : { uid: stat.uid, gid: stat.gid };
}

function unprivilegedAccount(): Account {
  const entries = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'));
  for (const name of CANDIDATES) {
    const [, , userId, groupId] = entries.find(([user]) => user === name) ?? [];
    const [uid, gid] = [Number(userId), Number(groupId)];
    if (uid > 0 && gid >= 0) return { uid, gid };
  }
  throw new EmbeddedError(
    `PostgreSQL refuses to run as root, and none of the users ${CANDIDATES.join(', ')} exists; ` +
      'start as an ordinary user or set DATABASE_URL',
  );
}
