import { dirname } from 'node:path';
import { chooseAccount } from './account.js';
import { findBinaries } from './binaries.js';
import { ensureDataDirectory } from './data-directory.js';
import type { Launch } from './postmaster.js';
import { SETTINGS, type Settings } from './settings.js';

export interface Prepared {
  readonly launch: Launch;
  /** Whether this call made the data directory. */
  readonly isNew: boolean;
}

/** All that it takes to start a server on that data directory, which is made if it is not there. */
export async function prepareLaunch(dataDir: string, logFile: string, settings: Settings = {}): Promise<Prepared> {
  const account = chooseAccount(dataDir);
  const binaries = await findBinaries(account, dirname(dataDir));
  const isNew = await ensureDataDirectory(dataDir, binaries, account);
  return { launch: { dataDir, logFile, binaries, account, settings: { ...SETTINGS, ...settings } }, isNew };
}
