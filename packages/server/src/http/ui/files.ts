import { readdir, readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, extname, join } from 'node:path';

/**
 * Where the built files of @millrace/dashboard are, whoever installed it and wherever: found by its name, as seen from
 * the module `from`. Null if it is not installed, which an installation may choose. It is never imported: it is files.
 */
export function dashboardFiles(from: string = import.meta.url): string | null {
  try {
    return join(dirname(createRequire(from).resolve('@millrace/dashboard/package.json')), 'dist');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'MODULE_NOT_FOUND') return null;
    throw error;
  }
}

export interface Asset {
  readonly type: string;
  readonly plain: Buffer;
  /** Made by the build; absent where compressing gains nothing. */
  readonly br: Buffer | undefined;
  readonly gzip: Buffer | undefined;
}

export interface Dashboard {
  readonly index: string;
  /** By name, without a folder: names carry a hash of their contents. */
  readonly assets: ReadonlyMap<string, Asset>;
}

const TYPES: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/**
 * Reads the whole dashboard, which is a megabyte at most. Requests are then looked up by name: no path that a client
 * sends ever reaches the file system. Null if the dashboard is not installed or has not been built.
 */
export async function loadDashboard(directory: string | null): Promise<Dashboard | null> {
  if (directory === null) return null;
  try {
    const index = await readFile(join(directory, 'index.html'), 'utf8');
    const folder = join(directory, 'assets');
    const files = new Map<string, Buffer>();
    for (const name of await readdir(folder)) files.set(name, await readFile(join(folder, name)));
    return { index, assets: assetsOf(files) };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

function assetsOf(files: ReadonlyMap<string, Buffer>): Map<string, Asset> {
  const assets = new Map<string, Asset>();
  for (const [name, plain] of files) {
    const type = TYPES[extname(name)];
    if (type !== undefined)
      assets.set(name, { type, plain, br: files.get(`${name}.br`), gzip: files.get(`${name}.gz`) });
  }
  return assets;
}
