import { readdir, readFile } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Where the build puts the dashboard: in the package beside this one, from the sources as from the build. */
export const DASHBOARD_FILES = fileURLToPath(new URL('../../../../dashboard/dist', import.meta.url));

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
 * sends ever reaches the file system. Null if the dashboard has not been built.
 */
export async function loadDashboard(directory: string): Promise<Dashboard | null> {
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
