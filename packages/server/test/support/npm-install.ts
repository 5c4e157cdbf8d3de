import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

/** No package runs a program of its own while it is installed, and none changes what is there. */
const FLAGS = ['--prefer-offline', '--ignore-scripts', '--no-audit', '--no-fund', '--no-save', '--no-package-lock'];

/** Where packages come from is wanted; what else npm tells the programs that it runs could narrow what they install. */
const isOwn = (name: string): boolean =>
  !/^(npm_(?!config_(registry|cache|userconfig)$)|MILLRACE_|VITEST|NODE_ENV$|NODE_OPTIONS$)/.test(name);

/** Fetches packages into a folder. Such a test needs the npm registry, and says so where it cannot be reached. */
export async function npmInstall(folder: string, packages: readonly string[]): Promise<void> {
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => isOwn(name)));
  try {
    await promisify(execFile)('npm', ['install', ...FLAGS, ...packages], { cwd: folder, env });
  } catch (error) {
    const { stderr = '', message } = error as Error & { readonly stderr?: string };
    throw new Error(
      `this test fetches ${packages.join(', ')} from the npm registry, and npm could not: is there a connection?\n` +
        (stderr || message),
      { cause: error },
    );
  }
}
